import { randomUUID } from "node:crypto";
import { receiverName, sendTo } from "../../base/receiver.ts";
import { Egress } from "../../egress/egress.ts";
import { JSON_MEDIA_TYPE } from "../../remote-protocol/http.ts";
import { type Notification, plainText, readable } from "./notification.ts";
import { isThisMachine, type Notify, type PushSubscription } from "./notify.ts";
import { sendMail } from "./smtp.ts";
import { MAX_PUSH_BYTES, pushRequest } from "./web-push.ts";

/** The longest text of a section of Slack's, and of a message of ntfy's, which would become a file. */
const SLACK_CHARS = 2_900;

const NTFY_BYTES = 4_000;

type Email = NonNullable<Notify["email"]>;

/** Sends notifications to people, to a program or to a server. */
export interface Channel {
  /** Without secrets. */
  readonly name: string;
  /** Rejects if the notification was not accepted. */
  send(notification: Notification, signal: AbortSignal): Promise<void>;
}

/** For a program, a request and a mail. */
const TIMEOUT_MS = 5_000;
const MAIL_TIMEOUT_MS = 30_000;
/** Maximum number of bytes of a response, which nobody reads. */
const RESPONSE_BYTES = 65_536;
/** Where the configuration says that a server is, it may also be in a private network. */
const ANY_ADDRESS = ["0.0.0.0/0", "::/0"];

/** What a push service answers for a subscription that has ended (RFC 8030, section 7.3). */
const GONE: readonly number[] = [404, 410];

class StatusError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`it answered with status ${status}`);
    this.status = status;
  }
}

/** A request that posts a notification. */
interface Post {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** Opens the channel that was chosen. */
export function openChannel(notify: Notify): Channel {
  const { command, url, slack, teams, ntfy, email, webPush } = notify;
  if (slack !== undefined) return webhook("Slack", slack.url, slackMessage);
  if (teams !== undefined) return webhook("Teams", teams.url, teamsMessage);
  if (ntfy !== undefined) {
    const { url: server = "https://ntfy.sh", topic, token } = ntfy;
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return webhook("ntfy", server, (notification) => ntfyMessage(notification, topic), headers);
  }
  if (email !== undefined) {
    const { host } = new URL(email.server);
    const within = (signal: AbortSignal): AbortSignal =>
      AbortSignal.any([signal, AbortSignal.timeout(MAIL_TIMEOUT_MS)]);
    return {
      name: `e-mail by ${host}`,
      send: (notification, signal) => sendEmail(email, notification, within(signal)),
    };
  }
  if (webPush !== undefined) return pushChannel(webPush, webPush.subscriptions ?? []);
  const receiver = command === undefined ? { url: String(url) } : { command };
  const options = { timeoutMs: TIMEOUT_MS, mediaType: JSON_MEDIA_TYPE };
  return {
    name: receiverName(receiver),
    send: (notification, signal) => sendTo(receiver, JSON.stringify(notification), { ...options, signal }),
  };
}

function webhook(
  kind: string,
  address: string,
  messageOf: (notification: Notification) => object,
  headers: Readonly<Record<string, string>> = {},
): Channel {
  const url = new URL(address);
  const egress = new Egress();
  return {
    // The path of a webhook is its secret.
    name: `${kind} (${url.origin})`,
    send: (notification, signal) =>
      post(
        egress,
        {
          url,
          body: JSON.stringify(messageOf(notification)),
          headers: { "content-type": JSON_MEDIA_TYPE, ...headers },
        },
        signal,
      ),
  };
}

/**
 * Sends to browsers.
 *
 * @param onGone Gets those that their push services do not know any more. Default: that is a failure.
 */
export function pushChannel<Device extends PushSubscription>(
  webPush: NonNullable<Notify["webPush"]>,
  devices: readonly Device[],
  onGone?: (gone: readonly Device[]) => void,
): Channel {
  const egress = new Egress();
  return {
    name: "web push",
    send: async (notification, signal) => {
      const text = pushText(notification);
      const sent = await Promise.allSettled(
        devices.map((device) => post(egress, pushRequest(webPush, device, text), signal)),
      );
      const gone = devices.filter((_device, at) => isGone(sent[at]));
      if (gone.length > 0) onGone?.(gone);
      const failed = sent.filter((end) => end.status === "rejected" && !(onGone && isGone(end)));
      if (failed.length > 0)
        throw new Error(
          `${failed.length} of ${sent.length} devices: ${(failed[0] as PromiseRejectedResult).reason.message}`,
        );
    },
  };
}

function isGone(end: PromiseSettledResult<unknown> | undefined): boolean {
  return end?.status === "rejected" && end.reason instanceof StatusError && GONE.includes(end.reason.status);
}

/** What a service worker shows: JSON with `title`, `body` and `link`. */
function pushText(notification: Notification): string {
  const { title, confirmations, link } = readable(notification);
  const own = confirmations.length === 1 ? confirmations[0]?.link : link;
  const rest = { title, ...(own !== undefined && { link: own }) };
  let body = plainText(notification);
  const write = (): string => JSON.stringify({ ...rest, body });
  while (Buffer.byteLength(write()) > MAX_PUSH_BYTES) body = body.slice(0, -100).toWellFormed();
  return write();
}

async function post(egress: Egress, { url, headers, body }: Post, signal: AbortSignal): Promise<void> {
  const { status } = await egress.send({
    method: "POST",
    url,
    headers: headers ?? {},
    body,
    signal,
    grants: [{ origin: url.origin, addresses: ANY_ADDRESS }],
    limits: { timeoutMs: TIMEOUT_MS, bodyBytes: RESPONSE_BYTES, failureBodyBytes: 0 },
  });
  // A redirect is not followed: it could lead anywhere.
  if (status < 200 || status > 299) throw new StatusError(status);
}

/** Sends a notification by SMTP. */
async function sendEmail(email: Email, notification: Notification, signal: AbortSignal): Promise<void> {
  const { server, user, password, from, to, ca } = email;
  const { protocol, hostname, port } = new URL(server);
  const isEncrypted = protocol === "smtps:";
  await sendMail({
    host: hostname.replace(/^\[|\]$/g, ""),
    from,
    to,
    ca,
    signal,
    port: port === "" ? (isEncrypted ? 465 : 587) : Number(port),
    tls: isEncrypted ? "always" : isThisMachine(hostname) && ca === undefined ? "never" : "starttls",
    ...(user !== undefined && password !== undefined && { login: { user, password } }),
    message: mailOf({ from, to }, notification),
  });
}

/** Writes a mail (RFC 5322) of plain text. Foreign texts are in base64 only, also in the subject. */
function mailOf({ from, to }: Pick<Email, "from" | "to">, notification: Notification): string {
  const { title } = readable(notification);
  const body = Buffer.from(`${plainText(notification)}\n`).toString("base64");
  return [
    `From: Sandgate <${from}>`,
    `To: ${to.join(",\r\n ")}`,
    `Subject: ${encodedWords(title)}`,
    `Date: ${new Date().toUTCString().replace("GMT", "+0000")}`,
    `Message-ID: <${randomUUID()}@${from.slice(from.lastIndexOf("@") + 1)}>`,
    "Auto-Submitted: auto-generated",
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: base64",
    "",
    ...(body.match(/.{1,76}/g) ?? []),
  ].join("\r\n");
}

/** Writes a text as encoded words (RFC 2047), each of which has at most 75 characters and no part of a character. */
function encodedWords(text: string): string {
  const words = [""];
  for (const character of text) {
    const last = words.at(-1) ?? "";
    if (Buffer.byteLength(last + character) > 36) words.push(character);
    else words[words.length - 1] = last + character;
  }
  return words.map((word) => `=?utf-8?B?${Buffer.from(word).toString("base64")}?=`).join("\r\n ");
}

/** Writes a message for an incoming webhook of Slack. Foreign texts are plain text, which Slack searches for no markup. */
function slackMessage(notification: Notification): object {
  const { title, confirmations, more, link } = readable(notification);
  const blocks = confirmations.flatMap(({ line, summary, link: own }) => [
    plainSection([line, summary].filter((part) => part !== undefined).join("\n")),
    ...(own === undefined ? [] : [linkSection(own, "Read it and answer")]),
  ]);
  if (more !== undefined) blocks.push(plainSection(more));
  if (link !== undefined && more !== undefined) blocks.push(linkSection(link, "All that wait"));
  // Where blocks cannot be shown, such as in a notification, the text is: as markup, so that it is escaped.
  const text = title.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  return { text, blocks, unfurl_links: false, unfurl_media: false };
}

function plainSection(text: string): object {
  return {
    type: "section",
    text: { type: "plain_text", text: text.slice(0, SLACK_CHARS).toWellFormed(), emoji: false },
  };
}

/** @param url One of the server's own. */
function linkSection(url: string, label: string): object {
  return { type: "section", text: { type: "mrkdwn", text: `<${url}|${label}>`, verbatim: true } };
}

/**
 * Writes an adaptive card for a workflow of Teams. Foreign texts are runs of a `RichTextBlock`, which have no Markdown; other
 * texts of cards do.
 */
function teamsMessage(notification: Notification): object {
  const { title, confirmations, more, link } = readable(notification);
  const run = (text: string, options: object = {}): object => ({ type: "TextRun", text, ...options });
  const block = (...inlines: readonly object[]): object => ({ type: "RichTextBlock", inlines });
  const opens = (url: string): object => ({ type: "Action.OpenUrl", title: "Open", url });
  const body = [
    block(run(title, { weight: "Bolder", size: "Medium" })),
    ...confirmations.flatMap(({ line, summary, link: own }) => [
      block(run(line)),
      ...(summary === undefined ? [] : [block(run(summary, { fontType: "Monospace" }))]),
      ...(own === undefined ? [] : [{ type: "ActionSet", actions: [opens(own)] }]),
    ]),
    ...(more === undefined ? [] : [block(run(more))]),
  ];
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body,
    ...(link !== undefined && more !== undefined && { actions: [opens(link)] }),
  };
  const contentType = "application/vnd.microsoft.card.adaptive";
  return { type: "message", attachments: [{ contentType, contentUrl: null, content }] };
}

/** Writes a message for ntfy, as JSON: nothing foreign is in a header. */
function ntfyMessage(notification: Notification, topic: string): object {
  const { title, confirmations, link } = readable(notification);
  const click = confirmations.length === 1 ? confirmations[0]?.link : link;
  return {
    topic,
    title,
    message: cutBytes(plainText(notification), NTFY_BYTES),
    markdown: false,
    ...(click !== undefined && { click }),
  };
}

function cutBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= most
    ? text
    : `${bytes
        .subarray(0, most)
        .toString()
        .replace(/\ufffd$/, "")}…`;
}
