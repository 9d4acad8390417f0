/**
 * The config file that `init` writes: every key with its meaning, unit and default.
 *
 * Promises that the text parses as it stands, that every key the parser knows is in it (a test compares the two), and
 * that what is commented out shows a value that would be accepted.
 */

/** `hostname` and `dataDir` are written as they are: check them before. */
export function defaultConfigText(hostname: string, dataDir: string): string {
  return `# Postrider. After a change: \`postrider check\`, then \`systemctl reload postrider\` (or SIGHUP);
# keys marked (restart) need a restart instead.

# The name this machine says in EHLO and in Message-IDs, and the target of the customers' return-path CNAME.
# It needs an A record, and the address needs a PTR record back to this name. No default. (restart)
hostname = ${JSON.stringify(hostname)}

# Folder for database, secret key and control socket; mode 0700. Default: "/var/lib/postrider". (restart)
data_dir = ${JSON.stringify(dataDir)}

[http]
# Where the API and the dashboard listen: IP address and port. Default: "127.0.0.1:8025". (restart)
listen = "127.0.0.1:8025"
# The address under which clients reach it. Default: built from listen.
public_url = "http://127.0.0.1:8025"
# PEM files; a change of the files is taken over on reload. Default: "" = plain HTTP, for a reverse proxy or loopback.
tls_cert = ""
tls_key = ""
# Networks (CIDR) of reverse proxies whose X-Forwarded-For is believed. Default: [].
trusted_proxies = []
# Networks (CIDR) that may read /metrics and the details of /health. Default: this machine. (restart)
metrics_networks = ["127.0.0.0/8", "::1/128"]

[smtp]
# Where bounce and complaint reports come in, usually "0.0.0.0:25". Default: "" = off. (restart)
inbound = ""
# Where applications hand in mail: STARTTLS, then AUTH with an API key as password, usually ["0.0.0.0:587"].
# Default: []. (restart)
submission = []
# The same under implicit TLS, usually ["0.0.0.0:465"]. Default: []. (restart)
submissions = []
# PEM files. Default: "" = the [http] pair, else a self-signed pair that init makes.
tls_cert = ""
tls_key = ""

[delivery]
# "direct": to the receivers' own servers. "smarthost": everything through one relay. "capture": to a receiver inside
# the appliance, for trying and staging; nothing leaves the machine. Default: "direct". (restart)
mode = "direct"
# The receivers' port in direct mode. Default: 25.
port = 25
# Local IP addresses to send from. Default: [] = the system's choice. (restart)
source_addresses = []
# How long a message is tried: a number with ms, s, m, h or d. Default: "48h".
expires = "48h"
# Networks (CIDR), beside the public internet, that mail may be delivered to. Default: []. (restart)
allow_networks = []

# The relay of mode "smarthost"; also the target of routes without a host.
[delivery.smarthost]
# IP address, "localhost", or a host name (asked of DNS, never of /etc/hosts). Default: "" = none. (restart, in mode
# "direct": to begin or end having one)
host = ""
# 465 and 2465 are TLS from the first byte, others STARTTLS. Default: 587.
port = 587
# Both or neither. Default: "".
username = ""
password = ""
# "required": TLS with a certificate that verifies. "opportunistic": TLS when offered. "none". Default: "required".
tls = "required"

# Exceptions by recipient domain, in every mode; the first match wins. Repeat the table for more.
# [[delivery.routes]]
# domains = ["corp.example", "*.corp.example"]
# host = "10.0.0.5"
# port = 25                    # default: 25
# username = "relay"           # both or neither; default: ""
# password = "secret"
# tls = "opportunistic"        # required | opportunistic | none; default: "opportunistic"

# How much a provider is given, by the names of its MX hosts; in front of the built-in table (Gmail, Outlook,
# Office 365, Yahoo, Apple). Everybody else gets 20 connections and 100 messages a connection. Repeat for more. (restart)
# [[delivery.providers]]
# name = "Example Mail"
# mx = ["*.mx.example.net"]
# connections = 5              # at once; default: 20
# messages_per_connection = 20 # default: 100
# messages_per_minute = 300    # default: as fast as the connections go

[dns]
# Resolvers as address and port, e.g. ["127.0.0.1:53"]. Default: [] = those of /etc/resolv.conf. (restart)
servers = []

[tls]
# PEM file with a private CA for on-premises receivers and webhook endpoints. Default: "" = none. (restart)
extra_ca_file = ""

# Certificates for the host names of public_url and hostname, fetched and renewed by itself (RFC 8555, HTTP-01). Used
# by SMTP, and by [http] when public_url is https and listen is not a loopback address, where no files are named.
[acme]
# Where the authority's question is answered; it asks on port 80, so usually "0.0.0.0:80". Default: "" = off. (restart)
listen = ""
# Where the authority may write to; it is told to no one else. Default: "" = none.
email = ""
# Must be true once listen is set: it accepts the authority's terms of service. Default: false.
accept_terms = false
# Default: that of Let's Encrypt. (restart)
directory_url = "https://acme-v02.api.letsencrypt.org/directory"

[api]
# "full" lets cc, bcc, attachments and headers through on POST /emails; "basic" refuses them. Default: "basic".
single_send = "basic"
# Reported to clients, never used: us-east-1, eu-west-1, sa-east-1 or ap-northeast-1. Default: "us-east-1".
region = "us-east-1"

[limits]
# Most recipients of one message over to, cc and bcc: 1 to 1000. Default: 50.
recipients = 50

[webhooks]
# Networks (CIDR), beside the public internet, that webhook endpoints may live in. Default: []. (restart)
allow_networks = []

[retention]
# How long html, text, headers and attachments are kept; "0" = not once a message is final. The request log shows the
# message's html and text until then; its own copies (16 KiB a request: batches, refusals, short emails, headers) it
# holds only for accounts whose log_retention_days is no longer than this. Default: "30d".
bodies = "30d"
# How long events, delivery attempts and webhook calls are kept; the email itself stays listed. At least "30d".
# Default: "365d".
history = "365d"

[brake]
# An account is paused when, over the last day or week, so many of 1,000 emails bounced for good or were complained
# about; 0 = never. Defaults: 100 and 5, where Amazon SES pauses an account too (10 % and 0.5 %).
bounces_per_1000 = 100
complaints_per_1000 = 5

# Plans limit accounts; "unlimited" is built in and is every account's default. Repeat the table for more.
# Without a key, its limit does not exist, unless a default is named.
# [[plans]]
# id = "starter"
# included_emails = 3000       # a calendar month
# overage_sen_per_thousand = 400
# overage_cap_sen = 20000
# max_domains = 3              # default: 1000000
# daily_limit = 500
# daily_limit_by_age_days = [[0, 100], [7, 300]]   # from this age of the account in days on: this limit a day
# log_retention_days = 7       # default: 30
# rate_per_second = 10         # sends; default: 100
# reads_per_minute = 300       # per key; default: 300
# attachment_bytes = 10_000_000  # all attachments of a message; bytes, or "10MB"; default: 10000000
# confirmed_recipients_only = false  # default: false
`;
}
