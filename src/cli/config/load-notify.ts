import { guardFiles } from "../../base/guarded-files.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import { compileShape, described, FLAG, mapOf, PATH, TEXT, TEXTS } from "../../config/shape.ts";
import type { ConfigEntry, ConfigPath, ConfigSource } from "../../config/source.ts";
import { oneOf, type Shape as Typed, type TypeOf, typed } from "../../json/shape.ts";
import { CHANNELS, checkNotify, type Notify, type PushSubscription } from "../../server/notifying/notify.ts";
import { absolutePathBeside, guardCommand } from "./guard-code.ts";
import { RECEIVER_MEMBERS, readTextBeside, readToken, TOKEN, type TokenEntry } from "./token.ts";

const WEBHOOK = (whose: string) =>
  mapOf({ url: described(TOKEN, `The URL of the webhook, which is a secret. ${whose}`) }, ["url"]);

const MEMBERS = mapOf({
  ...RECEIVER_MEMBERS,
  slack: described(WEBHOOK("It is an incoming webhook of Slack."), "A channel of Slack."),
  teams: described(
    WEBHOOK("It starts a workflow of Teams that posts the card which it receives."),
    "A channel of Microsoft Teams.",
  ),
  ntfy: described(
    mapOf(
      {
        url: described(TEXT, "The server.", "https://ntfy.sh"),
        topic: described(TOKEN, "The topic. Whoever knows that of a public server can read it."),
        token: described(TOKEN, "An access token. Default: none is sent."),
      },
      ["topic"],
    ),
    "A topic of ntfy.",
  ),
  email: described(
    mapOf(
      {
        server: described(
          TEXT,
          "`smtps://HOST[:PORT]`, or `smtp://HOST[:PORT]`, where the server must offer STARTTLS unless it is on this machine.",
        ),
        user: described(TEXT, "Who logs in to the server. Default: nobody."),
        password: described(TOKEN, "The password of `user`."),
        from: described(TEXT, "The address of the sender."),
        to: described(TEXTS, "The addresses of the recipients."),
        ca: described(
          PATH,
          "Certificate authorities to trust in place of the default ones, in PEM. Default: those of Node.js.",
        ),
      },
      ["server", "from", "to"],
    ),
    "A mail.",
  ),
  webPush: described(
    mapOf(
      {
        key: described(TOKEN, "The private key of VAPID: 32 bytes in base64url."),
        contact: described(TEXT, "Whom a push service can ask: a `mailto:` or `https:` URL."),
        subscriptions: described(
          PATH,
          "A JSON file with a list of what browsers returned when people subscribed elsewhere. They get everything. Default: none.",
        ),
        devices: described(
          PATH,
          "Where the server remembers the browsers in which approvers subscribe on its page: a file in a folder that it can write. Each gets what its approver may answer. Not with `links: answer`. Default: the page does not offer it.",
        ),
        services: described(
          TEXTS,
          "The origins of the push services of `devices`, in which `*.` stands for any part of the host. Default: those of Chromium, Firefox, Safari and Edge.",
        ),
      },
      ["key", "contact"],
    ),
    "Browsers of people who subscribed.",
  ),
  consoleUrl: described(
    TEXT,
    "Where people reach the server, for links to confirmations: an origin, such as `https://console.example.com`. Default: there are no links.",
  ),
  summary: described(FLAG, "Whether a line of the arguments is sent, redacted and cut.", false),
  links: described(
    oneOf(["login", "answer"]),
    "With `answer`, a link lets whoever has it read the arguments and answer once, in the name of `approver`; never a destructive call.",
    "login",
    ", where the page asks for the login of an approver",
  ),
  approver: described(TEXT, "With `links: answer`, the id of the approver in whose name links answer."),
});

type NotifyEntry = TypeOf<typeof MEMBERS>;

/** The JSON Schema of `confirmations.notify`. */
export const NOTIFY: Typed<NotifyEntry> = typed({
  ...MEMBERS,
  oneOf: CHANNELS.map((channel) => ({ required: [channel] })),
  message: `must have exactly one of ${CHANNELS.join(", ")}`,
});

const PATH_OF_NOTIFY: ConfigPath = ["confirmations", "notify"];

/**
 * Loads `confirmations.notify` of a config, with the secrets that it names.
 *
 * @param problems Receives every problem.
 */
export async function loadNotify(
  source: ConfigSource,
  problems: ConfigProblem[],
): Promise<Notify | undefined> {
  if (source.at(PATH_OF_NOTIFY) === undefined) return undefined;
  // What is wrong with the shape is a problem of `confirmations`.
  const entry = source.read<NotifyEntry>(compileShape(NOTIFY), [], PATH_OF_NOTIFY);
  if (entry === undefined) return undefined;
  const before = problems.length;
  const { slack, teams, ntfy, email, webPush, ...others } = entry.value;
  const read = (secret: TokenEntry, ...path: ConfigPath): Promise<string> =>
    readToken(secret, entry, path, problems).then((text) => text ?? "");
  const notify: Notify = {
    ...others,
    ...(slack && { slack: { url: await read(slack.url, "slack", "url") } }),
    ...(teams && { teams: { url: await read(teams.url, "teams", "url") } }),
    ...(ntfy && {
      ntfy: {
        ...(ntfy.url !== undefined && { url: ntfy.url }),
        topic: await read(ntfy.topic, "ntfy", "topic"),
        ...(ntfy.token && { token: await read(ntfy.token, "ntfy", "token") }),
      },
    }),
    ...(email && { email: await readEmail(email, entry, problems) }),
    ...(webPush && {
      webPush: {
        key: await read(webPush.key, "webPush", "key"),
        contact: webPush.contact,
        ...(webPush.subscriptions !== undefined && {
          subscriptions: await readSubscriptions(webPush.subscriptions, entry, problems),
        }),
        ...(webPush.devices !== undefined && { devices: devicesBeside(source.file, webPush.devices) }),
        ...(webPush.services && { services: webPush.services }),
      },
    }),
  };
  if (problems.length > before) return undefined;
  if (notify.command !== undefined) guardCommand(notify.command);
  try {
    return checkNotify(notify);
  } catch (error) {
    problems.push(entry.problem([], (error as TypeError).message));
    return undefined;
  }
}

async function readEmail(
  { password, ca, ...email }: NonNullable<NotifyEntry["email"]>,
  entry: ConfigEntry<NotifyEntry>,
  problems: ConfigProblem[],
): Promise<NonNullable<Notify["email"]>> {
  const at = ["email", "password"];
  const secret = password && (await readToken(password, entry, at, problems));
  const authorities =
    ca === undefined ? undefined : await readTextBeside(ca, entry, ["email", "ca"], problems);
  return {
    ...email,
    ...(secret !== undefined && { password: secret }),
    ...(authorities !== undefined && { ca: authorities }),
  };
}

async function readSubscriptions(
  file: string,
  entry: ConfigEntry<NotifyEntry>,
  problems: ConfigProblem[],
): Promise<readonly PushSubscription[]> {
  const path = ["webPush", "subscriptions"];
  const text = await readTextBeside(file, entry, path, problems);
  try {
    const value: unknown = text === undefined ? [] : JSON.parse(text);
    if (Array.isArray(value) && value.every(isSubscription)) return value;
  } catch {
    // It is not JSON.
  }
  problems.push(entry.problem(path, "the file must have a JSON list of subscriptions"));
  return [];
}

/** No tool may read or change what people subscribed with. */
function devicesBeside(file: string, path: string): string {
  const devices = absolutePathBeside(file, path);
  guardFiles([{ path: devices }]);
  return devices;
}

function isSubscription(value: Partial<PushSubscription> | null): boolean {
  const { endpoint, keys } = value ?? {};
  return typeof endpoint === "string" && typeof keys?.p256dh === "string" && typeof keys.auth === "string";
}
