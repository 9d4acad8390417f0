"""Submits with Python's smtplib over STARTTLS and over implicit TLS, and prints what it was refused with, as JSON."""

import json
import os
import smtplib
import ssl
from email.message import EmailMessage

domain = os.environ["DOMAIN"]
key = os.environ["RESEND_API_KEY"]
context = ssl.create_default_context()


def message(subject, sender=f"Shop <hello@{domain}>"):
    mail = EmailMessage()
    mail["From"] = sender
    mail["To"] = "Änn <ann@example.net>"
    mail["Cc"] = "cy@example.net"
    mail["Subject"] = subject
    mail.set_content("Grüße\n")
    mail.add_alternative("<p>Grüße</p>\n", subtype="html")
    mail.add_attachment(b"attached", maintype="text", subtype="plain", filename="a.txt")
    return mail


with smtplib.SMTP("localhost", int(os.environ["STARTTLS_PORT"])) as client:
    client.starttls(context=context)
    client.login("resend", key)
    client.send_message(message("smtplib STARTTLS"))
    try:
        client.send_message(message("smtplib refused", "a@nobody.example"))
        refused = None
    except smtplib.SMTPResponseException as error:
        refused = [error.smtp_code, error.smtp_error.decode()]

with smtplib.SMTP_SSL("localhost", int(os.environ["TLS_PORT"]), context=context) as client:
    client.login("resend", key)
    client.send_message(message("smtplib TLS"))
    try:
        client.login("resend", "pr_live_wrong")
    except smtplib.SMTPException:
        pass

print(json.dumps({"refused": refused}))
