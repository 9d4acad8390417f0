# Submits with Action Mailer over STARTTLS and over implicit TLS, and prints what it was refused with, as JSON.

require 'json'
require 'action_mailer'

DOMAIN = ENV.fetch('DOMAIN')
LOGIN = { address: 'localhost', user_name: 'resend', password: ENV.fetch('RESEND_API_KEY'), authentication: :plain }
STARTTLS = LOGIN.merge(port: ENV.fetch('STARTTLS_PORT').to_i, enable_starttls: true)
IMPLICIT = LOGIN.merge(port: ENV.fetch('TLS_PORT').to_i, tls: true)

class Receipt < ActionMailer::Base
  def receipt(subject, settings, sender = "Shop <hello@#{DOMAIN}>")
    attachments['a.txt'] = 'attached'
    mail(from: sender, to: 'Änn <ann@example.net>', cc: 'cy@example.net', subject: subject,
         delivery_method_options: settings) do |format|
      format.text { render plain: "Grüße\n" }
      format.html { render html: '<p>Grüße</p>'.html_safe }
    end
  end
end

ActionMailer::Base.delivery_method = :smtp
Receipt.receipt('rails STARTTLS', STARTTLS).deliver_now
refused = begin
  Receipt.receipt('rails refused', STARTTLS, 'a@nobody.example').deliver_now
  nil
rescue Net::SMTPError, Net::ProtoServerError => error
  [error.message.to_i, error.message]
end
Receipt.receipt('rails TLS', IMPLICIT).deliver_now

puts JSON.generate(refused: refused)
