<?php
/**
 * Submits with Laravel's mail package over STARTTLS and over implicit TLS, and prints what it was refused with, as JSON.
 *
 * The package alone, without the framework: what it asks of the framework's events and views is empty here.
 */

require '/usr/share/php/Illuminate/Mail/autoload.php';
require '/usr/share/php/Egulias/EmailValidator/autoload.php';

use Illuminate\Container\Container;
use Illuminate\Contracts\Events\Dispatcher;
use Illuminate\Contracts\View\Factory;
use Illuminate\Mail\MailManager;
use Illuminate\Support\HtmlString;

final class NoEvents implements Dispatcher
{
    public function listen($events, $listener = null) {}
    public function hasListeners($eventName) { return false; }
    public function subscribe($subscriber) {}
    public function until($event, $payload = []) {}
    public function dispatch($event, $payload = [], $halt = false) {}
    public function push($event, $payload = []) {}
    public function flush($event) {}
    public function forget($event) {}
    public function forgetPushed() {}
}

final class NoViews implements Factory
{
    public function exists($view) { return false; }
    public function file($path, $data = [], $mergeData = []) {}
    public function make($view, $data = [], $mergeData = []) {}
    public function share($key, $value = null) {}
    public function composer($views, $callback) {}
    public function creator($views, $callback) {}
    public function addNamespace($namespace, $hints) {}
    public function replaceNamespace($namespace, $hints) {}
}

$login = [
    'transport' => 'smtp',
    'host' => 'localhost',
    'username' => 'resend',
    'password' => getenv('RESEND_API_KEY'),
];
$app = new Container();
$app->instance('events', new NoEvents());
$app->instance('view', new NoViews());
$app->instance('config', [
    'mail.default' => 'starttls',
    'mail.driver' => null,
    'mail.from' => null,
    'mail.reply_to' => null,
    'mail.to' => null,
    'mail.return_path' => null,
    'mail.mailers.starttls' => ['port' => getenv('STARTTLS_PORT'), 'encryption' => 'tls'] + $login,
    'mail.mailers.secure' => ['port' => getenv('TLS_PORT'), 'encryption' => 'ssl'] + $login,
]);
$manager = new MailManager($app);

function send(MailManager $manager, string $mailer, string $subject, string $from): void
{
    $views = ['html' => new HtmlString("<p>Grüße</p>\n"), 'raw' => "Grüße\n"];
    $manager->mailer($mailer)->send($views, [], function ($message) use ($subject, $from) {
        $message->from($from, 'Shop')->to('ann@example.net', 'Änn')->cc('cy@example.net');
        $message->subject($subject)->attachData('attached', 'a.txt');
    });
}

$from = 'hello@' . getenv('DOMAIN');
send($manager, 'starttls', 'laravel STARTTLS', $from);
$refused = null;
try {
    send($manager, 'starttls', 'laravel refused', 'a@nobody.example');
} catch (Swift_TransportException $error) {
    $refused = [$error->getCode(), $error->getMessage()];
}
send($manager, 'secure', 'laravel TLS', $from);

echo json_encode(['refused' => $refused]);
