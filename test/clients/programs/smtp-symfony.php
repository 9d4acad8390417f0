<?php
/** Submits with Symfony Mailer over STARTTLS and over implicit TLS, and prints what it was refused with, as JSON. */

require '/usr/share/php/Symfony/Component/Mailer/autoload.php';

use Symfony\Component\Mailer\Exception\TransportExceptionInterface;
use Symfony\Component\Mailer\Mailer;
use Symfony\Component\Mailer\Transport;
use Symfony\Component\Mime\Address;
use Symfony\Component\Mime\Email;

function mail_from(string $from, string $subject): Email
{
    return (new Email())
        ->from(new Address($from, 'Shop'))
        ->to(new Address('ann@example.net', 'Änn'))
        ->cc('cy@example.net')
        ->subject($subject)
        ->text("Grüße\n")
        ->html("<p>Grüße</p>\n")
        ->attach('attached', 'a.txt', 'text/plain');
}

$from = 'hello@' . getenv('DOMAIN');
$login = 'resend:' . urlencode(getenv('RESEND_API_KEY'));

$mailer = new Mailer(Transport::fromDsn("smtp://$login@localhost:" . getenv('STARTTLS_PORT')));
$mailer->send(mail_from($from, 'symfony STARTTLS'));
$refused = null;
try {
    $mailer->send(mail_from('a@nobody.example', 'symfony refused'));
} catch (TransportExceptionInterface $error) {
    $refused = [$error->getCode(), $error->getMessage()];
}
$secure = new Mailer(Transport::fromDsn("smtps://$login@localhost:" . getenv('TLS_PORT')));
$secure->send(mail_from($from, 'symfony TLS'));

echo json_encode(['refused' => $refused]);
