/**
 * The general table behind `classifyReply`: known words, then enhanced codes, then bare reply codes.
 *
 * Data only, the most specific first; the first row that matches decides. Words are tried before codes, since servers
 * use 5.1.1 for blocklists and 5.7.1 for unknown users, and their words say what their postmasters meant. Each row
 * names its source.
 */
import { row, type BounceRow } from './bounce-row.ts';

const RFC_3463 = 'RFC 3463 section 3';
const RFC_5321 = 'RFC 5321 section 4.2.3';
const IANA = 'IANA, SMTP Enhanced Status Codes registry';
const POSTFIX = 'Postfix 3.7, smtpd and virtual delivery texts';
const EXIM = 'Exim 4.96, default configuration and transports';
const SENDMAIL = 'Sendmail 8, mailer and queue texts';
const QMAIL = 'qmail 1.03, qmail-local, qmail-remote and qmail-send';
const COMMON =
  'words that several vendors share: Postfix, Exim, Exchange, Domino, Communigate, cPanel';

const AUTH_HINT = 'Check SPF, DKIM and DMARC of the sending domain: postrider domain verify.';
const LIST_HINT =
  'The sending IP address is on a blocklist: the reply names it; ask there for removal.';
const PTR_HINT =
  'Give the sending IP address a PTR record that matches the EHLO name: postrider doctor.';
const GREY_HINT = 'Greylisted: the receiver takes it at a later attempt.';

/** Words of replies, whatever their codes. */
const TEXT_ROWS: readonly BounceRow[] = [
  row('policy', `${RFC_3463}.2 (X.1.7, X.1.8: the sender's address)`, {
    text: /sender (?:address )?(?:rejected|verify failed|verification)|(?:bad|invalid|unknown) sender/i,
    enhanced: /^[45]\.[17]\.\d+$/,
  }),
  // The sender's identity: before all else, so that a blocklist behind 5.1.1 does not read as an unknown user.
  row('policy', 'RFC 6647 (greylisting); postgrey, milter-greylist, rspamd', {
    text: /\bgr[ea]y-?\s?list|try again in \d{1,9} (?:seconds|minutes)|temporarily deferred.{0,200}first (?:time|contact)/i,
    hint: GREY_HINT,
  }),
  row('policy', 'RFC 7489 section 10.3, RFC 7208 section 8.4, RFC 6376 section 6.3', {
    text: /\bDMARC\b|\bSPF\b.{0,200}(?:fail|not|reject|error|policy)|(?:fail|reject).{0,200}\bSPF\b|\bDKIM\b.{0,200}(?:fail|invalid|missing|required|not)|not authorized to send (?:from|mail|on behalf)|unauthenticated (?:mail|e-?mail|message)/i,
    hint: AUTH_HINT,
  }),
  row('policy', `${POSTFIX}: reject_unknown_client_hostname`, {
    text: /cannot find your (?:reverse )?host ?name|reverse DNS|\bPTR\b|\brDNS\b|no reverse|client host rejected: cannot find|dynamic (?:ip|address|host|pool)|residential|fix reverse/i,
    hint: PTR_HINT,
  }),
  row('reputation', `${POSTFIX}: reject_rbl_client; RFC 5782 (DNS blocklists)`, {
    text: /\b(?:dns|r)bl\b|black ?-?list|block ?-?list|\bblocked using\b|(?<!not )listed (?:at|by|in|on) |\bsurbl\b|\buribl\b|\bsorbs\b|\bnixspam\b|\bhostkarma\b|\bbarracuda\b/i,
    hint: LIST_HINT,
  }),
  row('reputation', COMMON, {
    text: /reputation|(?:bad|poor|low) (?:sender )?score|suspected spam(?:mer)?(?: source| ip)|(?:ip|address|host|network|client|sender) (?:\S{1,60} )?(?:is |has been |was )?(?:blocked|banned|blacklisted|denied)|blocked (?:your|by) (?:ip|network|host)|your (?:ip|host|network|server) .{0,200}(?:blocked|banned|rejected)|spam source|too many (?:spam|complaints|bad recipients|invalid recipients)|block(?:ed)? for (?:abuse|spam)|user complaints/i,
    hint: 'The receiver distrusts the sending IP address or domain; ask its postmaster.',
  }),
  // Our sending rate
  row('rate', `${POSTFIX}: anvil; ${EXIM}: ratelimit`, {
    text: /rate ?-?limit|too many (?:connections|concurrent|messages|mails|emails|recipients this|sessions|commands|smtp sessions|requests|errors)|throttl|too (?:fast|quickly|frequent)|(?:connection|message|sending) (?:rate|frequency) (?:limit|exceed)|exceeded.{0,200}(?:rate|per (?:hour|minute|day|connection))|try again later.{0,200}(?:limit|volume)|excessive (?:volume|connections|messages)|slow down|unusual (?:rate|volume)|temporarily deferred due to/i,
    hint: 'Too much at once for this receiver; it is sent to more slowly.',
  }),
  // A full mailbox: before the size of a message, whose words are alike
  row('mailbox_full', `${RFC_3463} X.2.2; ${EXIM}: quota; Dovecot, Courier, Domino`, {
    text: /(?:over|out of|exceed\w{0,3}|reached|beyond|full|no) .{0,25}\bquota\b|\bquota\b.{0,40}(?:exceed|full|over|reached|violation|hard|limit|would)|mail ?box (?:is |size )?(?:\S{1,60} )?(?:full|over|exceed\w{0,3}|too large|limit)|(?:mail ?box|inbox|account|user|storage).{0,40}(?:\bis full|has exceeded|exceeds? (?:allowed|its|the|storage)|over (?:the )?(?:limit|size|storage|disk))|full mail ?box|insufficient (?:disk )?space.{0,200}mail ?box|not enough (?:disk )?(?:space|storage).{0,30}(?:mail ?box|user|account)|disk quota|mail ?folder is full|recipient storage full/i,
  }),
  // What the message is
  row('content', 'RFC 3463 section 3.4 (X.3.4); RFC 1870', {
    subType: 'MessageTooLarge',
    text: /(?:message|mail|e-?mail|size|data|body|attachment).{0,40}(?:too (?:large|big|long)|exceed(?:s|ed|ing)?.{0,30}(?:size|limit|maximum|max))|(?:exceed\w{0,3}|over).{0,30}(?:message |maximum |fixed |file)?size|size limit|maximum (?:message )?size|message file too big/i,
  }),
  row('content', `${COMMON}; amavisd-new`, {
    subType: 'AttachmentRejected',
    text: /attachment.{0,60}(?:not (?:allowed|accepted|permitted)|reject|block|banned|prohibited|type|extension|filtered)|(?:banned|blocked|forbidden|illegal|prohibited|disallowed).{0,40}(?:attachment|file|extension|content type)|executable/i,
  }),
  row('content', 'ClamAV milter, amavisd-new, Exim acl_smtp_mime', {
    subType: 'AttachmentRejected',
    text: /\bvirus\b|\bmalware\b|\binfected\b|\btrojan\b|\bmalicious\b/i,
  }),
  row('content', 'SpamAssassin milter, rspamd, amavisd-new, Proofpoint, Barracuda', {
    text: /\bspam(?:assassin)?\b|\bunsolicited\b|\bjunk\b|\bphish|\bUBE\b|\bUCE\b|bulk (?:mail|e-?mail)|content (?:filter|reject|restrict|polic|not)|(?:rejected|blocked) (?:due to|by|for|because of) (?:\w{1,30} )?content|message content|\bGTUBE\b|objectionable|suspicious|inappropriate|high probability of|\bblocked URL|contains a (?:URL|link|domain)/i,
    hint: 'The receiver took the content for spam; look at links, images and wording.',
  }),
  row('protocol', 'RFC 5322; RFC 6532; Gmail, Exim and rspamd header checks', {
    text: /not RFC ?\d{0,4} ?(?:2822|5322|5321|821|822)|RFC ?(?:2822|5322|5321|7601).{0,200}(?:complian|violat|invalid)|(?:missing|multiple|duplicate|invalid|bad|malformed).{0,20}(?:From|To|Date|Message-?ID|MIME|header|Subject)\b|bare (?:LF|CR|<LF>|newline)|line too long|lines? (?:is |are )?too long|syntactically incorrect header|header (?:syntax|error)|improperly formatted/i,
  }),
  // The mailbox
  row('recipient', COMMON, {
    text: /mailing list.{0,40}(?:expansion|closed|moderated)|list .{0,30}(?:does not accept|only (?:members|subscribers))|not (?:a )?(?:list )?(?:member|subscriber)|members only|only (?:\w{1,30} )?members|only (?:authenticated|internal|certain|authorized) senders|not (?:permitted|allowed|authorized) to (?:send|post|write) to (?:this|the) (?:recipient|address|list|group)|restricted (?:address|recipient|list)|sender not (?:allowed|permitted|on)|rejected by recipient|recipient (?:has )?(?:blocked|rejected|refuses)|does not accept mail from (?:you|this)/i,
    subType: 'PolicyBlocked',
    hint: 'Only certain senders may write to this address.',
  }),
  // The domain: before the mailbox, whose words are alike
  row('recipient', `${RFC_3463}.2 (X.1.2)`, { enhanced: /^[45]\.1\.2$/, isAboutAddress: true }),
  row('recipient', `${SENDMAIL}; ${QMAIL}; RFC 3463 X.1.2`, {
    text: /\b(?:host|domain)(?: name)? (?:\S{1,60} )?(?:was |is |could |can )?(?:not (?:be )?found|unknown|does not exist|has no mail|couldn't be found)|host unknown|unknown (?:host|domain)|name service error|no (?:mail )?(?:servers?|hosts?|MX) (?:for|found|exist)|couldn't find any host|NXDOMAIN|no such domain|domain (?:is )?(?:invalid|expired)/i,
    subType: 'General',
  }),
  // No such mailbox
  row('recipient', `${POSTFIX}, ${SENDMAIL}, ${QMAIL}, ${EXIM}`, {
    isAboutAddress: true,
    text: /(?:user|recipient|mail ?box|account|address|alias|local part|addressee|customer|member|person|name|destinat\w{1,6}).{0,60}(?:\bunknown\b|not? (?:been )?(?:found|known|exist|recogni[sz]ed|valid\b|registered|listed)|does ?n[o']t (?:exist|have)|non-?exist|undeliverable|no longer (?:exist|in use|valid|with|available|active|here|work)|is invalid|isn't (?:valid|here)|has been (?:deleted|removed|closed|terminated|suspended|disabled|deactivated)|(?:is |was )?(?:disabled|deactivated|inactive|suspended|closed|discontinued|deleted|expired))/i,
  }),
  row('recipient', `${POSTFIX}, ${SENDMAIL}, ${QMAIL}, ${EXIM}`, {
    isAboutAddress: true,
    text: /\bno such (?:user|recipient|mail ?box|account|address|person|local|domain user|email|member|customer|alias)|(?:unknown|invalid|non-?existent|inactive|disabled|bad|illegal|unrecogni[sz]ed|nonexisting) (?:or (?:illegal|invalid) )?(?:virtual |local |destination )?(?:user|recipient|mail ?box|account|address(?:ee)?|alias|e-?mail|local.?part|destination)|no (?:mail ?box|account|user|one|recipient)s? (?:here|by that|with (?:that|this)|of (?:that|this)|named|found|at this)|not a (?:valid|known|local) (?:user|mail ?box|recipient|address|account)|there is no (?:one|user|mailbox|such)|user not found|can(?:'t|not) find (?:user|recipient|mail ?box)|we do not have a mailbox|this address (?:no longer|has no|does not)|not our customer|unrouteable address/i,
  }),
  // The route
  row(
    'policy',
    `${POSTFIX}: reject_unauth_destination; ${EXIM}: relay not permitted; ${QMAIL}: rcpthosts`,
    {
      text: /relay(?:ing)? .{0,30}(?:denied|not (?:allowed|permitted)|access|prohibited|disallowed)|(?:not|un)\w{0,20} .{0,20}to relay|rcpthosts|relay access denied|not a gateway|we don't handle mail for|domain (?:is )?not (?:hosted|local|handled|served)/i,
      subType: 'General',
      hint: 'The host in the MX record does not take mail for this domain.',
    },
  ),
  row('network', `${SENDMAIL}; ${QMAIL}; ${POSTFIX}: delivery texts`, {
    text: /connection (?:timed out|refused|reset|lost|closed)|timed? ?out|no route to host|network (?:is )?unreachable|unable to connect|could not connect|cannot connect|wasn't able to establish|lost connection|message expired|delivery time expired|retry time(?:out)? (?:exceeded|not reached)|too (?:old|long in queue)|temporar(?:y|ily) (?:failure|unavailable|error|problem)|system (?:not (?:available|accepting)|busy|resources|load|overload)|server (?:busy|error|overload|unavailable|is too busy)|service (?:not |un|temporarily un)available|insufficient (?:system )?(?:storage|resources)|internal (?:server )?error|local (?:error|configuration|problem)|load average|too many hops|loops? back|mail loop|loop detected|hop count/i,
  }),
  row('policy', COMMON, {
    text: /polic(?:y|ies)|administrative(?:ly)? (?:prohibit|den)|prohibit|access denied|not (?:authori[sz]ed|permitted|allowed|accepted)|denied by|security|(?:sender|from) (?:address|domain)?.{0,20}(?:reject|denied|refus|not (?:exist|valid|found|verif))|sender verify failed|authenticat/i,
  }),
  row('protocol', 'RFC 5321 section 4.2.4; RFC 3207', {
    text: /bad sequence|syntax error|unrecogni[sz]ed|not implemented|must issue a STARTTLS|TLS (?:is )?required|encryption required|helo|ehlo|protocol (?:error|violation)|unsupported|SMTPUTF8|8BITMIME|internationali[sz]ed/i,
  }),
];

/** Enhanced codes, for replies whose words match no row. */
const ENHANCED_ROWS: readonly BounceRow[] = [
  row('recipient', `${RFC_3463}.2; X.1.10: RFC 7505`, {
    enhanced: /^[45]\.1\.(?:1|2|3|6|10)$/,
    isAboutAddress: true,
  }),
  row('policy', `${RFC_3463}.2 (X.1.7, X.1.8: the sender's address)`, {
    enhanced: /^[45]\.1\.[789]$/,
  }),
  row('recipient', `${RFC_3463}.2`, { enhanced: /^[45]\.1\.\d+$/, subType: 'General' }),
  row('recipient', `${RFC_3463}.3 (X.2.1)`, { enhanced: /^[45]\.2\.1$/, isAboutAddress: true }),
  row('mailbox_full', `${RFC_3463}.3 (X.2.2)`, { enhanced: /^[45]\.2\.2$/ }),
  row('content', `${RFC_3463}.3 (X.2.3), 3.4 (X.3.4)`, {
    enhanced: /^[45]\.(?:2\.3|3\.4)$/,
    subType: 'MessageTooLarge',
  }),
  row('recipient', `${RFC_3463}.3`, { enhanced: /^[45]\.2\.\d+$/, subType: 'General' }),
  row('network', `${RFC_3463}.4 (mail system status)`, { enhanced: /^[45]\.3\.[0-3]$/ }),
  row('protocol', `${RFC_3463}.4 (X.3.5)`, { enhanced: /^[45]\.3\.\d+$/ }),
  row('network', `${RFC_3463}.5 (network and routing)`, { enhanced: /^[45]\.4\.\d+$/ }),
  row('rate', `${RFC_3463}.6 (X.5.3: too many recipients)`, { enhanced: /^[45]\.5\.3$/ }),
  row('protocol', `${RFC_3463}.6 (mail delivery protocol)`, { enhanced: /^[45]\.5\.\d+$/ }),
  row('content', `${RFC_3463}.7 (message content)`, { enhanced: /^[45]\.6\.\d+$/ }),
  row('policy', `${IANA}: X.7.20 to X.7.27 (DKIM, SPF, PTR, DMARC), RFC 7372`, {
    enhanced: /^[45]\.7\.(?:2[0-9]|3[0-2])$/,
    hint: AUTH_HINT,
  }),
  row('policy', `${RFC_3463}.8 (security or policy)`, { enhanced: /^[45]\.7\.\d+$/ }),
  row('content', `${RFC_3463}.7`, { enhanced: /^[45]\.9\.\d+$/, subType: 'General' }),
];

/** Bare reply codes, for replies without words and enhanced code. */
const CODE_ROWS: readonly BounceRow[] = [
  row('network', RFC_5321, { codes: [421, 432, 451, 454] }),
  row('recipient', RFC_5321, { codes: [450, 550, 551], subType: 'General' }),
  row('network', `${RFC_5321}: insufficient system storage`, { codes: [452] }),
  row('mailbox_full', `${RFC_5321}: exceeded storage allocation`, { codes: [552] }),
  row('recipient', `${RFC_5321}: mailbox name not allowed`, { codes: [553], subType: 'General' }),
  row('recipient', 'RFC 7504 and RFC 7505: the domain takes no mail', {
    codes: [521, 556],
    subType: 'General',
  }),
  row('policy', 'RFC 4954 (authentication)', { codes: [530, 534, 535, 538] }),
  row('content', 'RFC 5321 section 4.5.3.1.9 and RFC 1870: too large', {
    codes: [523],
    subType: 'MessageTooLarge',
  }),
  row('protocol', RFC_5321, { codes: [455, 500, 501, 502, 503, 504, 555] }),
  row('policy', `${RFC_5321}: transaction failed`, { codes: [554] }),
];

export const GENERAL_ROWS: readonly BounceRow[] = [...TEXT_ROWS, ...ENHANCED_ROWS, ...CODE_ROWS];
