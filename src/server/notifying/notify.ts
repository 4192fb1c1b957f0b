import { checkReceiver } from "../../base/receiver.ts";
import { isMailAddress } from "./smtp.ts";

/** How people are notified of confirmations: exactly one of `command`, `url`, `slack`, `teams`, `ntfy`, `email` and `webPush`. */
export interface Notify {
  /** A program and its arguments, without a shell. It receives JSON on its standard input. */
  readonly command?: readonly string[];
  /** Receives JSON in a `POST` request. */
  readonly url?: string;
  /** An incoming webhook of Slack. Its URL is a secret. */
  readonly slack?: { readonly url: string };
  /** A workflow of Microsoft Teams that is started by a webhook. Its URL is a secret. */
  readonly teams?: { readonly url: string };
  /** A topic of a server of ntfy. */
  readonly ntfy?: {
    /** Default: `https://ntfy.sh`. */
    readonly url?: string;
    /** Whoever knows the topic of a public server can read it. */
    readonly topic: string;
    /** An access token. Default: none is sent. */
    readonly token?: string;
  };
  readonly email?: {
    /**
     * `smtps://HOST[:PORT]`, or `smtp://HOST[:PORT]`, where the server must offer STARTTLS unless it is on this machine. The
     * ports are 465 and 587 by default.
     */
    readonly server: string;
    /** Default: none, and no password. */
    readonly user?: string;
    readonly password?: string;
    readonly from: string;
    readonly to: readonly string[];
    /** Certificate authorities to trust in place of the default ones, in PEM. */
    readonly ca?: string;
  };
  readonly webPush?: {
    /** The private key of VAPID: 32 bytes in base64url. */
    readonly key: string;
    /** Whom a push service can ask: a `mailto:` or `https:` URL. */
    readonly contact: string;
    /** What browsers returned when people subscribed elsewhere. They get everything. Default: none; then `devices` is needed. */
    readonly subscriptions?: readonly PushSubscription[];
    /**
     * A file in which the server remembers the browsers where approvers subscribe, on its own page. Each gets what its
     * approver may answer. Not with `links: "answer"`. Default: the page does not offer it.
     */
    readonly devices?: string;
    /** The origins of the push services of `devices`; `*` stands for a part of the host. Default: those of common browsers. */
    readonly services?: readonly string[];
  };
  /** Where people reach the server, for links to confirmations: an origin. Default: there are no links. */
  readonly consoleUrl?: string;
  /** Whether a line of the arguments is sent, redacted and cut. Default: `false`. */
  readonly summary?: boolean;
  /**
   * With `answer`, a link lets whoever has it read the arguments and answer once, in the name of `approver`. Needs
   * `consoleUrl`. Default: `login`, where the page asks for the login of an approver.
   */
  readonly links?: "login" | "answer";
  /** In whose name a link with `answer` answers: the id of an approver. */
  readonly approver?: string;
}

/** A browser's subscription, as its `toJSON` returns it. */
export interface PushSubscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** The members of {@link Notify} of which there is exactly one. */
export const CHANNELS = ["command", "url", "slack", "teams", "ntfy", "email", "webPush"] as const;

/**
 * Checks the options of notifications.
 *
 * @throws {TypeError} if it is not valid. The message has no secret.
 */
export function checkNotify(notify: Notify): Notify {
  const [first, ...others] = CHANNELS.filter((channel) => notify[channel] !== undefined);
  if (first === undefined || others.length > 0)
    throw new TypeError(`notify must have exactly one of ${CHANNELS.join(", ")}`);
  const { command, url, slack, teams, ntfy, email, webPush } = notify;
  if (command !== undefined || url !== undefined)
    checkReceiver(command === undefined ? { url: String(url) } : { command }, "notify");
  if (slack !== undefined) checkUrl(slack.url, "notify.slack.url");
  if (teams !== undefined) checkUrl(teams.url, "notify.teams.url");
  if (ntfy !== undefined) checkNtfy(ntfy);
  if (email !== undefined) checkEmail(email);
  if (webPush !== undefined) checkWebPush(webPush, notify.links);
  checkLinks(notify);
  return notify;
}

function checkLinks({ consoleUrl, links = "login", approver }: Notify): void {
  const origin = consoleUrl === undefined ? undefined : URL.parse(consoleUrl);
  if (origin === null || (origin !== undefined && !isHttp(origin)) || origin?.origin !== consoleUrl)
    throw new TypeError("notify.consoleUrl must be an origin, such as https://console.example.com");
  if (links === "login") {
    if (approver !== undefined) throw new TypeError("notify.approver needs notify.links: answer");
    return;
  }
  if (origin === undefined) throw new TypeError("notify.links: answer needs notify.consoleUrl");
  if (approver === undefined || approver === "")
    throw new TypeError("notify.links: answer needs notify.approver, in whose name the link answers");
  if (origin.protocol !== "https:" && !isThisMachine(origin.hostname))
    throw new TypeError("notify.links: answer needs an https notify.consoleUrl");
}

function checkNtfy({ url, topic, token }: NonNullable<Notify["ntfy"]>): void {
  if (url !== undefined) checkUrl(url, "notify.ntfy.url");
  if (!/^[-\w]{1,64}$/.test(topic))
    throw new TypeError("notify.ntfy.topic must have 1 to 64 letters, digits, dashes and underscores");
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw new TypeError("notify.ntfy.token must have printable ASCII characters only");
}

function checkEmail({ server, user, password, from, to }: NonNullable<Notify["email"]>): void {
  const url = URL.parse(server);
  const isServer = url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== "";
  if (!isServer || url.username !== "" || url.password !== "" || !/^\/?$/.test(url.pathname))
    throw new TypeError("notify.email.server must be smtps://HOST or smtp://HOST, with a port if you like");
  if ((user === undefined) !== (password === undefined))
    throw new TypeError("notify.email must have both user and password, or none of them");
  if (to.length === 0) throw new TypeError("notify.email.to must have an address");
  for (const address of [from, ...to]) {
    if (!isMailAddress(address))
      throw new TypeError("notify.email.from and to must be addresses, such as ann@example.com");
  }
}

function checkWebPush(
  { key, contact, subscriptions = [], devices, services = [] }: NonNullable<Notify["webPush"]>,
  links: Notify["links"],
): void {
  if (Buffer.from(key, "base64url").length !== 32)
    throw new TypeError("notify.webPush.key must be a private key of VAPID: 32 bytes in base64url");
  if (!/^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/[^\s]+)$/.test(contact))
    throw new TypeError("notify.webPush.contact must be a mailto: or https: URL");
  if (subscriptions.length === 0 && devices === undefined)
    throw new TypeError(
      "notify.webPush needs a subscription, or devices: where those of the page are written",
    );
  // Such a link answers for one person, and would be sent to the browsers of all.
  if (devices !== undefined && links === "answer")
    throw new TypeError("notify.webPush.devices cannot be used with notify.links: answer: browsers log in");
  if (!services.every((service) => SERVICE.test(service)))
    throw new TypeError("notify.webPush.services must be origins, such as https://*.push.example.com");
  if (!subscriptions.every(isPushSubscription))
    throw new TypeError("a subscription of notify.webPush is not what a browser returns");
}

const SERVICE = /^https?:\/\/(?:\*\.)?[^\s/*@?#]+$/;

/** Whether a value is what a browser returns when a person subscribes. */
export function isPushSubscription(value: Partial<PushSubscription> | null): value is PushSubscription {
  const { endpoint, keys } = value ?? {};
  const url = typeof endpoint === "string" ? URL.parse(endpoint) : null;
  const [point, secret] = [keys?.p256dh, keys?.auth].map((text) => Buffer.from(String(text), "base64url"));
  return url !== null && isHttp(url) && point?.length === 65 && point[0] === 4 && secret?.length === 16;
}

function checkUrl(text: string, what: string): void {
  const url = URL.parse(text);
  if (url === null || !isHttp(url) || url.username !== "" || url.password !== "")
    throw new TypeError(`${what} must be an http or https URL without credentials`);
}

function isHttp({ protocol }: URL): boolean {
  return protocol === "https:" || protocol === "http:";
}

/** Whether a host is this machine, so that nobody else can read what is sent to it. */
export function isThisMachine(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
