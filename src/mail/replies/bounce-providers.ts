/**
 * Replies of single providers and blocklists, recognised by words that only they use.
 *
 * Data only, the most specific first; tried before the general table. Each row names its source; each hint links to the
 * provider's own help or removal page.
 */
import { row, type BounceRow } from './bounce-row.ts';

const GMAIL = 'Google Workspace Admin Help, "Gmail SMTP errors and codes" (answer 3726730)';
const MICROSOFT =
  'Microsoft Learn, "Email non-delivery reports and SMTP errors in Exchange Online"';
const OUTLOOK =
  'Outlook.com Postmaster, "SMTP error codes" (sendersupport.olc.protection.outlook.com/pm)';
const YAHOO = 'Yahoo Sender Hub, "SMTP error codes" (senders.yahooinc.com/smtp-error-codes)';
const APPLE = 'Apple Support HT204137, "Postmaster information for iCloud Mail"';

const GMAIL_HINT = 'See https://support.google.com/mail/answer/81126 and Google Postmaster Tools.';
const GMAIL_AUTH_HINT =
  'Check SPF, DKIM and DMARC of the sending domain: https://support.google.com/mail/answer/81126#authentication';
const GMAIL_RATE_HINT =
  'Send more slowly to Gmail: https://support.google.com/mail/?p=UnsolicitedRateLimitError';
const OUTLOOK_HINT =
  'Ask for delisting at https://olcsupport.office.com/ and look at SNDS: https://sendersupport.olc.protection.outlook.com/snds/';
const OFFICE_HINT = 'Ask for delisting of the IP address at https://sender.office.com/';
const YAHOO_HINT =
  'See https://senders.yahooinc.com/smtp-error-codes/ and ask at https://senders.yahooinc.com/contact';
const APPLE_HINT =
  'See https://support.apple.com/HT204137; write to icloudadmin@apple.com if it stays.';
const SPAMHAUS_HINT = 'Look the address up and ask for removal at https://check.spamhaus.org/';

const gmail = { provider: 'Gmail' };
const outlook = { provider: 'Outlook' };
const yahoo = { provider: 'Yahoo' };
const apple = { provider: 'Apple' };

/** Who wrote a reply, where no row says so. */
export const PROVIDERS: readonly { name: string; text: RegExp }[] = [
  { name: 'Gmail', text: /\bgsmtp\b|support\.google\.com/i },
  { name: 'Outlook', text: /\b(?:outlook|hotmail|office365|live)\.com\b/i },
  { name: 'Yahoo', text: /yahoodns\.net|yahooinc\.com|\byahoo\.com\b|\baol\.com\b/i },
  { name: 'Apple', text: /\bicloud\.com\b|support\.apple\.com|\bme\.com\b/i },
];

export const PROVIDER_ROWS: readonly BounceRow[] = [
  // Gmail
  row('rate', GMAIL, {
    ...gmail,
    text: /receiving mail (?:too quickly|at a rate that)|(?:ReceivingRate|ReceivingRatePerm)\b/i,
    hint: 'This mailbox gets too much mail at the moment: https://support.google.com/mail/?p=ReceivingRate',
  }),
  row('reputation', GMAIL, {
    ...gmail,
    text: /unusual rate of unsolicited mail|UnsolicitedRateLimitError|UnsolicitedIPError/i,
    hint: GMAIL_RATE_HINT,
  }),
  row('reputation', GMAIL, {
    ...gmail,
    enhanced: /^[45]\.7\.28$/,
    text: /gsmtp|google/i,
    hint: GMAIL_RATE_HINT,
  }),
  row('policy', GMAIL, {
    ...gmail,
    text: /(?:UnauthenticatedEmail|UnauthorizedEmail|SenderHeaderAlign|MailSecurity)\b|sender is unauthenticated|blocked because the sender is unauth|does not pass authentication checks/i,
    hint: GMAIL_AUTH_HINT,
  }),
  row('policy', GMAIL, {
    ...gmail,
    enhanced: /^[45]\.7\.(?:2[0-79]|3[0-2]|40)$/,
    text: /gsmtp|google/i,
    hint: GMAIL_AUTH_HINT,
  }),
  row('policy', GMAIL, {
    ...gmail,
    text: /does not have a PTR record|IPv6AuthError|PTR record.{0,200}(?:setup|match)/i,
    hint: 'Give the sending IP address a PTR record that matches its host name: https://support.google.com/mail/answer/81126#ip',
  }),
  row('reputation', GMAIL, {
    ...gmail,
    text: /very low reputation of the sending (?:IP|domain)|likely (?:suspicious|unsolicited) .{0,200}google|UnsolicitedMessageError|NotAuthorizedError/is,
    hint: GMAIL_HINT,
  }),
  row('content', GMAIL, {
    ...gmail,
    text: /BlockedMessage\b|content presents a potential security issue/i,
    subType: 'AttachmentRejected',
    hint: 'Gmail refuses the type of an attachment or link: https://support.google.com/mail/?p=BlockedMessage',
  }),
  row('mailbox_full', GMAIL, { ...gmail, text: /OverQuota(?:Temp|Perm)\b/i }),
  row('recipient', GMAIL, {
    ...gmail,
    text: /NoSuchUser\b|email account that you tried to reach does not exist/i,
    isAboutAddress: true,
  }),
  row('recipient', GMAIL, {
    ...gmail,
    text: /DisabledUser\b|email account that you tried to reach is (?:disabled|inactive)/i,
    isAboutAddress: true,
  }),
  // Microsoft: Outlook.com and Exchange Online
  row('reputation', OUTLOOK, {
    ...outlook,
    text: /\bA?S\(?31[4-6]0\)?|\(S775\)|\(S77719\)|\bRP-00[1-4]\b|\bSC-00[1-4]\b|\bOU-00[12]\b|part of their network is on our block ?list|temporarily rate limited due to IP reputation/i,
    hint: OUTLOOK_HINT,
  }),
  row('policy', OUTLOOK, {
    ...outlook,
    text: /\bDY-00[12]\b/,
    hint: 'The IP address looks like a dynamic one: give it a PTR record of its own, or use a smarthost. https://olcsupport.office.com/',
  }),
  row('reputation', MICROSOFT, {
    ...outlook,
    enhanced: /^5\.7\.(?:60[6-9]|6[1-4]\d)$/,
    hint: OFFICE_HINT,
  }),
  row('reputation', MICROSOFT, {
    ...outlook,
    text: /banned sending IP|S3150|delist(?:ing)? (?:portal|yourself)|sender\.office\.com/i,
    hint: OFFICE_HINT,
  }),
  row('policy', MICROSOFT, {
    ...outlook,
    enhanced: /^5\.7\.(?:509|515|23|133|134|136|12|124|708)$/,
    text: /outlook|microsoft|prod\.|access denied|AS\(|RESOLVER/i,
    hint: 'Check SPF, DKIM and DMARC of the sending domain, or ask the recipient to let you in: https://learn.microsoft.com/exchange/troubleshoot/email-delivery/ndr/non-delivery-reports-in-exchange-online',
  }),
  row('rate', MICROSOFT, {
    ...outlook,
    enhanced: /^4\.7\.(?:500|50[0-9]|700|750)$/,
    hint: 'Exchange Online slows this IP address down; send more slowly.',
  }),
  row('rate', MICROSOFT, {
    ...outlook,
    text: /recipient thread limit exceeded|submission rate for this client|RecipientRateLimit|Server busy\. Please try again later from|AS\(?(?:843|844|8561|77713\d{0,4}|77714\d{0,4}|9000)\b/i,
  }),
  // Directory-based edge blocking replies 5.4.1 for mailboxes that do not exist. A domain that has moved away
  // gets the same reply, so the code does not suppress.
  row('recipient', MICROSOFT, {
    ...outlook,
    enhanced: /^5\.4\.1$/,
    text: /recipient address rejected: access denied|AS\(201806281\)/i,
  }),
  row('recipient', MICROSOFT, {
    ...outlook,
    text: /RESOLVER\.ADR\.(?:Ex)?Recip(?:ient)?NotFound|RecipNotFound|recipient not found by SMTP address lookup/i,
    isAboutAddress: true,
  }),
  row('policy', MICROSOFT, {
    ...outlook,
    text: /RESOLVER\.RST\.(?:AuthRequired|NotAuthorized|RestrictedToRecipientsPermission|SenderNotAuthenticated)/i,
    hint: 'Only certain senders may write to this address; its administrator can change that.',
  }),
  row('mailbox_full', MICROSOFT, {
    ...outlook,
    text: /STOREDRV.{0,200}(?:quota|mailbox full)|RESOLVER\.RST\.RecipSizeLimit.{0,200}quota/i,
  }),
  row('content', MICROSOFT, {
    ...outlook,
    text: /RESOLVER\.RST\.(?:Recip|Send|Org)?SizeLimit|RST2?\.(?:SendSizeLimit|RecipSizeLimit)/i,
    subType: 'MessageTooLarge',
  }),
  row('content', MICROSOFT, {
    ...outlook,
    text: /spam score|message was (?:detected|classified) as (?:high confidence )?(?:spam|phish)|TRANSPORT\.RULES\.RejectMessage/i,
  }),
  row('network', MICROSOFT, { ...outlook, text: /QUEUE\.Expired|Hop count exceeded/i }),
  // Yahoo and AOL
  row('reputation', YAHOO, { ...yahoo, text: /\[(?:IP)?TSS?\d\d\]|\bTSS0\d\b/, hint: YAHOO_HINT }),
  row('reputation', YAHOO, {
    ...yahoo,
    text: /\[(?:BL|IPTS|PH|CN|RL)\d\d\]|permanently deferred|All messages from .{0,200} will be permanently deferred/i,
    hint: YAHOO_HINT,
  }),
  row('policy', YAHOO, {
    ...yahoo,
    text: /\[GL\d\d\]/,
    hint: 'Greylisted by Yahoo; tried again by itself.',
  }),
  row('policy', YAHOO, {
    ...yahoo,
    enhanced: /^5\.7\.9$/,
    text: /yahoo|aol|policy reasons/i,
    hint: YAHOO_HINT,
  }),
  row('recipient', YAHOO, {
    ...yahoo,
    text: /user doesn't have an? \S{1,60} account|\bdd (?:This user|Requested mail action)|This mailbox is disabled \(554\.30\)|\b554\.30\b/i,
    isAboutAddress: true,
  }),
  // Apple
  row('rate', APPLE, {
    ...apple,
    text: /deferred due to excessive volume.{0,200}HT204137/is,
    hint: APPLE_HINT,
  }),
  row('reputation', APPLE, {
    ...apple,
    text: /\[(?:CS|HM|HV|LB|IP)\d\d\]|rejected due to local policy.{0,200}(?:apple|icloud|HT204137)/is,
    hint: APPLE_HINT,
  }),
  // Others
  row('reputation', 'Comcast Postmaster, "Error codes" (postmaster.comcast.net)', {
    provider: 'Comcast',
    text: /\b(?:BL|RL|PHI?|SP|HV)0{4}\d{2}\b|postmaster\.comcast\.net|comcast.{0,200}(?:block|deferred)/i,
    hint: 'See https://postmaster.comcast.net/',
  }),
  row(
    'reputation',
    'GMX and WEB.DE Postmaster, error messages (postmaster.gmx.net/en/error-messages)',
    {
      provider: 'GMX',
      text: /postmaster\.\S{0,100}error-messages\S{0,100}\bc=(?:bl|hi|rep|ip|rbl|r)\b|Bad DNS PTR resource record|Nemesis ESMTP Service not available/i,
      hint: 'See https://postmaster.gmx.net/en/error-messages',
    },
  ),
  row('reputation', 'Deutsche Telekom, Postmaster FAQ (postmaster.t-online.de)', {
    provider: 'T-Online',
    text: /tobr@rx\.t-online\.de|tosa@rx\.t-online\.de|bad or no reputation|None\/bad reputation/i,
    hint: 'T-Online wants a PTR record, an imprint and a free listing: write to tobr@rx.t-online.de, https://postmaster.t-online.de/',
  }),
  row('reputation', 'Orange and Wanadoo, Postmaster (postmaster.orange.fr)', {
    provider: 'Orange',
    text: /\bO[FU]R_?\d{3}(?:_\d{3})?\b/,
    hint: 'See https://postmaster.orange.fr/',
  }),
  row('reputation', 'La Poste, error codes LPN (laposte.net)', {
    provider: 'La Poste',
    text: /\bLPN\d{3}_\d{3}\b/,
    hint: 'See https://www.laposte.net/ postmaster pages.',
  }),
  row('content', 'Mail.ru Postmaster (postmaster.mail.ru)', {
    provider: 'Mail.ru',
    text: /spam message (?:rejected|discarded).{0,200}mail\.ru|mail\.ru\/notspam/is,
    hint: 'Ask at https://help.mail.ru/notspam-support/ and see https://postmaster.mail.ru/',
  }),
  row('content', 'Yandex Postmaster (postmaster.yandex.com)', {
    provider: 'Yandex',
    text: /under suspicion of SPAM|ya\.cc\/1IrBc/i,
    hint: 'See https://yandex.com/support/postmaster/',
  }),
  row('rate', 'Tencent QQ Mail, bounce help (service.mail.qq.com)', {
    provider: 'QQ',
    text: /connection frequency limited|frequency limited.{0,200}qq\.com|mailbox sending limit/is,
    hint: 'See https://service.mail.qq.com/',
  }),
  row('content', 'NetEase, spam rejection codes (help.163.com)', {
    provider: 'NetEase',
    text: /\bDT:SPM\b|help_spam_16/i,
    hint: 'See http://mail.163.com/help/help_spam_16.htm',
  }),
  row('reputation', 'Charter Spectrum, "Understanding email error codes"', {
    provider: 'Spectrum',
    text: /\bAUP#(?:I-)?\d{3,4}\b|\bE1[12]\d{3}\b.{0,200}charter/i,
    hint: 'See https://www.spectrum.net/support/internet/understanding-email-error-codes',
  }),
  row('reputation', 'Cox, "Email error codes" (cox.com/residential/support)', {
    provider: 'Cox',
    text: /\bCXBL\b|\bCXSNDR\b|\bCXDNS\b/,
    hint: 'See https://www.cox.com/residential/support/email-error-codes.html',
  }),
  // Blocklists and filters that many receivers use
  row('reputation', 'Spamhaus, "Why was my mail blocked" (spamhaus.org/faqs)', {
    text: /spamhaus/i,
    hint: SPAMHAUS_HINT,
  }),
  row('reputation', 'SpamCop blocking list (spamcop.net/bl.shtml)', {
    text: /spamcop/i,
    hint: 'See https://www.spamcop.net/bl.shtml',
  }),
  row('reputation', 'Barracuda Reputation Block List (barracudacentral.org/rbl)', {
    text: /barracudacentral|barracuda.{0,200}(?:reputation|block)|barracudanetworks\.com\/reputation/i,
    hint: 'Ask for removal at https://www.barracudacentral.org/rbl/removal-request',
  }),
  row('reputation', 'Proofpoint, IP lookup (ipcheck.proofpoint.com)', {
    text: /proofpoint.{0,200}(?:block|reputation)|support\.proofpoint\.com|ipcheck\.proofpoint/i,
    hint: 'Ask for removal at https://ipcheck.proofpoint.com/',
  }),
  row('reputation', 'Cloudmark Sender Intelligence (csi.cloudmark.com)', {
    text: /cloudmark/i,
    hint: 'Ask for a reset at https://csi.cloudmark.com/en/reset/',
  }),
  row('reputation', 'Cisco Talos, reputation lookup (talosintelligence.com)', {
    text: /senderbase|talosintelligence|ironport.{0,200}reputation/i,
    hint: 'Look the address up at https://talosintelligence.com/reputation_center',
  }),
  row('reputation', 'Trend Micro Email Reputation Services', {
    text: /trendmicro.{0,200}reputation|mail-abuse\.com|Email Reputation Service/i,
    hint: 'Ask for removal at https://servicecentral.trendmicro.com/en-us/ers/ip-lookup/',
  }),
  row('reputation', 'Abusix Mail Intelligence (lookup.abusix.com)', {
    text: /abusix/i,
    hint: 'Ask for removal at https://lookup.abusix.com/',
  }),
  row('reputation', 'UCEPROTECT (uceprotect.net)', {
    text: /uceprotect/i,
    hint: 'The entry ends by itself after seven quiet days: https://www.uceprotect.net/',
  }),
  row('reputation', 'Mimecast, "SMTP error codes" (community.mimecast.com)', {
    provider: 'Mimecast',
    text: /mimecast.{0,200}(?:reputation|blocked|administrator prohibition)|Administrator prohibition - envelope blocked|antispam policy.{0,200}mimecast/is,
    hint: 'See https://community.mimecast.com/s/article/email-security-cloud-gateway-mimecast-smtp-error-codes',
  }),
];
