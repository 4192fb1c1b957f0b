import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { ToolRegistry } from "../../../../engine/registry.ts";
import { isJsonObject, type JsonValue } from "../../../../json/value.ts";
import type { ImportedServerOptions, StdioServerOptions } from "../../../../mcp/import/server-options.ts";
import { openSandboxes, type SandboxesOptions } from "../../../../sandboxes/open-sandboxes.ts";
import type { McpNotice } from "../../../../sandboxes/remote/mcp-client/notice.ts";
import { SIDE_EFFECTS, type SideEffects } from "../../../../tool/side-effects.ts";

/** What a server was refused, as the grant that it would need. */
export type NeededGrant =
  | { readonly kind: "net"; readonly origin: string }
  | { readonly kind: "fs"; readonly path: string; readonly isFile: boolean; readonly write: boolean }
  | { readonly kind: "env"; readonly name: string };

/** What a server did when it was started for the first time. Texts are the server's, in part: show them only rendered. */
export interface Trial {
  /** Why it has no tools; `undefined` if it was connected to. */
  readonly problem: string | undefined;
  /** Its tools by their registered names, with the classes that they deserve. */
  readonly tools: ReadonlyMap<string, SideEffects>;
  /** Whether it has resources or prompts. */
  readonly hasOffers: boolean;
  readonly needs: readonly NeededGrant[];
  /** What it was refused, and what is wrong with what it sent, in words. */
  readonly remarks: readonly string[];
}

const TIMEOUT_MS = 60_000;

/** Maximum number of grants of a server that are proposed, and remarks that are shown. */
const MAX_SHOWN = 20;

const ORIGIN = /'(https?:\/\/[^'\s]+)'/;

/** Lines of a trace of Node.js or Python, and of the code that it quotes. */
const TRACE =
  /^\s*(?:at |File "|[\^~]+\s*$|throw |[{}\]]|code: |requireStack|node:internal|Node\.js v\d|Traceback)/;

/** Maximum number of lines of a server that are shown when it cannot be used. */
const MAX_LINES = 8;

const FILE_REFUSED =
  /\b(?:cannot find (?:module|package)|can't open file|ENOENT|EACCES|EPERM|EROFS|no such file|permission denied|read-only file system|not found|does not exist|cannot access|not accessible|inaccessible)\b/i;
const FILE_WRITTEN = /\bEROFS\b|read-only file system|\b(?:mkdir|write|unlink|rename|rmdir|copyfile)\b/i;
const ABSOLUTE = /(?<![\w./:-])\/[^\s'"`,;:()[\]{}<>|*?]+/g;

const VARIABLE = /(?<![\w$./-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w(])/g;
const VARIABLE_WANTED =
  /\b(?:required|requires|missing|not set|unset|must be set|not defined|undefined|not provided|environment|env var|please set|please provide|set the)\b/i;
/** Names of errors, and variables that are not settings of the server. */
const NO_SETTING = /^(?:ERR|MODULE|NODE|NPM|EAI|UND|DEP)_/;

/** What cannot work in a sandbox and has its own reason, by what programs write about it. */
const REASONS: readonly { readonly pattern: RegExp; readonly text: string }[] = [
  {
    pattern:
      /ECONNREFUSED\s+(?:127\.|::1|localhost)|connection refused.*(?:127\.0\.0\.1|localhost)|(?:127\.0\.0\.1|localhost).*connection refused/i,
    text: "it looked for a service at its own loopback address, which is the sandbox's and not this machine's: grant an address of this machine in 'net', such as { origin: \"http://192.168.1.10:8080\", addresses: [192.168.1.10/32] }, and have the server use that",
  },
  {
    pattern: /\b(?:ENOTFOUND|EAI_AGAIN)\b|name resolution|could not resolve|nodename nor servname/i,
    text: "it looked up a host by itself, which nothing in the sandbox can: only requests through the proxy of the variables HTTPS_PROXY and HTTP_PROXY are sent, to origins of 'net'. A Node.js before 22.21 or 24.5 does not use them",
  },
  {
    pattern: /could not locate the bindings file|no native build was found|cannot find module '[^']*\.node'/i,
    text: "a part of it is compiled when it is installed, by a script that was not run: add it again with --scripts, which runs the scripts of all its packages unconfined",
  },
  {
    pattern: /which is not public/,
    text: "its address is none of the public ones: grant it with --address, such as --address 127.0.0.1/32",
  },
  {
    pattern: /\b401\b|unauthori[sz]ed/i,
    text: "it wants a token: name the variable that has one with --bearer, or have a person log in with 'oauth' in the config (docs/mcp.md#oauth)",
  },
  {
    pattern:
      /unable to get (?:local )?issuer|certificate verify failed|self.signed certificate|UNABLE_TO_VERIFY|no certificate/i,
    text: "it does not trust the certificate of a server: grant the certificates' file in 'fs', and name it in 'env' as NODE_EXTRA_CA_CERTS or SSL_CERT_FILE",
  },
];

/**
 * Starts a server once, confined, and without network if it is a program, lists what it has, and ends it.
 *
 * @param hide Removes secrets from a text.
 */
export async function tryServer(
  name: string,
  options: ImportedServerOptions,
  sandboxOptions: SandboxesOptions,
  hide: (text: string) => string,
): Promise<Trial> {
  const registry = new ToolRegistry();
  const lines: string[] = [];
  const remarks = new Set<string>();
  const origins = new Set<string>();
  const onNotice = ({ kind, message }: McpNotice): void => {
    if (kind === "stderr" || kind === "log") lines.push(message);
    if (kind !== "problem" || message.startsWith("it cannot be connected to")) return;
    const origin = message.includes("request was refused") ? ORIGIN.exec(message)?.[1] : undefined;
    if (origin === undefined) remarks.add(hide(message));
    else origins.add(origin);
  };
  await using sandboxes = await openSandboxes(sandboxOptions);
  sandboxes.ensureExit();
  const { openMcp } = await import("../../../../mcp/import/open-mcp.ts");
  const isProgram = "command" in options;
  const started = isProgram ? { ...options, net: [] } : options;
  let problem: string | undefined;
  let hasOffers = false;
  {
    const connectTimeoutMs = TIMEOUT_MS;
    await using imports = await openMcp({
      servers: { [name]: started },
      registry,
      sandboxes,
      onNotice,
      connectTimeoutMs,
    });
    problem = imports.servers.get(name)?.problem;
    hasOffers = [...imports.definitions().keys()].some((each) => each.includes("/"));
    if (problem === undefined && registry.names.length === 0 && !hasOffers && remarks.size > 0)
      problem = "nothing that it lists can be used";
  }
  const texts = problem === undefined ? lines : [...lines, problem];
  for (const { pattern, text } of REASONS) if (texts.some((line) => pattern.test(line))) remarks.add(text);
  if (problem !== undefined) {
    // A trace says where in the server, and not what it lacks; what is in the problem is shown once.
    const telling = lines.filter((line) => !TRACE.test(line) && !problem?.includes(line.trim()));
    for (const line of telling.slice(0, MAX_LINES)) remarks.add(hide(line.trim()));
  }
  const needs: NeededGrant[] = [...origins].map((origin) => ({ kind: "net", origin }));
  if (isProgram) needs.push(...neededOf(texts, options));
  return {
    problem: problem && hide(problem),
    tools: new Map(registry.names.map((tool) => [tool, classOf(registry, tool)])),
    hasOffers,
    needs: needs.slice(0, MAX_SHOWN),
    remarks: [...remarks].slice(0, MAX_SHOWN),
  };
}

function classOf(registry: ToolRegistry, registered: string): SideEffects {
  const definition = registry.find(registered)?.definition.describe() ?? {};
  const { implementations, annotations } = definition;
  const remote = isJsonObject(implementations) ? implementations["remote"] : undefined;
  const pinned = isJsonObject(remote) ? remote["mcp"] : undefined;
  const original = isJsonObject(pinned) ? pinned["tool"] : undefined;
  return proposedClass(typeof original === "string" ? original : registered, annotations);
}

/** Finds in what a program wrote which files and variables it lacked. What it wrote is hostile: a person decides on each. */
function neededOf(
  lines: readonly string[],
  { fs = [], env = {} }: StdioServerOptions,
): readonly NeededGrant[] {
  const files = new Map<string, NeededGrant>();
  const names = new Set<string>();
  for (const line of lines) {
    if (FILE_REFUSED.test(line)) {
      for (const [path] of line.matchAll(ABSOLUTE)) {
        const write = FILE_WRITTEN.test(line);
        const place = write && !existsSync(path) ? dirname(path) : path;
        const found = statSync(place, { throwIfNoEntry: false });
        if (found === undefined || isSeen(place, write, fs)) continue;
        files.set(place, { kind: "fs", path: place, isFile: found.isFile(), write });
      }
    }
    if (VARIABLE_WANTED.test(line)) {
      for (const [name] of line.matchAll(VARIABLE)) {
        if (!NO_SETTING.test(name) && !Object.hasOwn(env, name)) names.add(name);
      }
    }
  }
  return [...files.values(), ...Array.from(names, (name): NeededGrant => ({ kind: "env", name }))];
}

/** Whether a program sees a path already: it is the system's, or granted. */
function isSeen(path: string, write: boolean, fs: NonNullable<StdioServerOptions["fs"]>): boolean {
  const isBelow = (folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
  if (path === "/" || ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/dev", "/sys"].some(isBelow))
    return true;
  if (path === "/tmp") return true;
  return fs.some((grant) => {
    const place = "file" in grant ? grant.file : grant.directory;
    return isBelow(grant.at ?? place) && (!write || ("write" in grant && grant.write === true));
  });
}

/** Words of a tool's name that say what it does at worst. The strictest class applies. */
const WORDS: readonly (readonly [SideEffects, ReadonlySet<string>])[] = [
  [
    "destructive",
    new Set(
      "delete destroy drop purge remove erase wipe truncate kill terminate revoke reset uninstall force clear".split(
        " ",
      ),
    ),
  ],
  [
    "network",
    new Set(
      "send post publish email mail message notify invite share merge push comment reply pay transfer buy order book deploy upload submit tweet call trigger".split(
        " ",
      ),
    ),
  ],
  [
    "execute",
    new Set("exec execute run eval evaluate shell bash terminal command script sql spawn start".split(" ")),
  ],
  [
    "write",
    new Set(
      "write create update edit set add insert put patch save append store modify change move rename copy import replace upsert toggle enable disable".split(
        " ",
      ),
    ),
  ],
];

/** Verbs after which the other words of a name are what is read: `list_merge_requests`. */
const READING = new Set(
  "get list read search find fetch describe show count view check lookup head stat status tree diff compare".split(
    " ",
  ),
);

/**
 * Proposes the class of a tool: the one of its hints, or a stricter one if its name says that it does more. Without hints, a
 * tool is `destructive`, as the defaults of MCP say.
 *
 * @param name The server's own name of the tool.
 * @param hints Its `annotations`. Any value.
 */
function proposedClass(name: string, hints: JsonValue | undefined): SideEffects {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  const [first = ""] = words;
  const telling = READING.has(first) ? [] : words;
  const named = WORDS.filter(([, known]) => telling.some((word) => known.has(word))).map(([each]) => each);
  return [hintedClass(hints), ...named].reduce((a, b) =>
    SIDE_EFFECTS.indexOf(a) < SIDE_EFFECTS.indexOf(b) ? b : a,
  );
}

function hintedClass(hints: JsonValue | undefined): SideEffects {
  const { readOnlyHint, destructiveHint, openWorldHint } =
    hints !== undefined && isJsonObject(hints) ? hints : {};
  if (destructiveHint === true) return "destructive";
  if (readOnlyHint === true) return "read";
  if (destructiveHint !== false) return "destructive";
  return openWorldHint === false ? "write" : "network";
}
