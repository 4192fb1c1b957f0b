import { randomBytes } from "node:crypto";
import { relative } from "node:path";
import { guardFiles } from "../../../../base/guarded-files.ts";
import { joinShown, type ShownText, shown } from "../../../../rendering/shown.ts";
import { PackageProblem } from "../../../config/server-package.ts";
import {
  EXIT_BAD_INPUT,
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  ownCommand,
  print,
  type Terminal,
} from "../../../terminal.ts";
import { ConfigFile, type Confirming, type ConsoleTokens } from "./config-file.ts";
import { type FoundServer, type GivenGrants, prepareServer, showTried } from "./new-server.ts";
import { Questions } from "./questions.ts";
import { SecretFiles } from "./secret-files.ts";

/** Where servers are added, and how. */
export interface AddingOptions {
  /** The path of the config, which is created if it does not exist. */
  readonly config: string;
  /** Who confirms calls, for a new config. Default: the person at the terminal says, or the console. */
  readonly confirming: Confirming | undefined;
  /** Whether scripts of packages run when they are installed. */
  readonly scripts: boolean;
}

/** Options of `sandgate mcp add`. */
interface AddOptions extends AddingOptions {
  readonly name: string;
  /** A command, or the URL of a server. */
  readonly words: readonly string[];
  readonly grants: GivenGrants;
  /** The variable that has the bearer token for the URL. Default: it gets none. */
  readonly bearer: string | undefined;
}

/** Adds a server to a config, after it was started once. */
export async function add(
  { name, words, grants, bearer, ...options }: AddOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const [command = "", ...args] = words;
  const isUrl = /^https?:\/\//i.test(command) && args.length === 0;
  const found: FoundServer = isUrl
    ? { name, url: command, ...(bearer !== undefined && { bearer }) }
    : { name, command, args };
  using questions = new Questions(terminal);
  const { code } = await addServers([found], grants, options, questions, terminal);
  return code;
}

/** The outcome of adding servers. */
interface Added {
  readonly code: ExitCode;
  /** The names of those in the config. */
  readonly names: readonly string[];
  readonly tokens: ConsoleTokens | undefined;
}

/** Starts servers once, one by one, and writes those that can be used to the config. */
export async function addServers(
  found: readonly FoundServer[],
  grants: GivenGrants,
  { config, confirming, scripts }: AddingOptions,
  questions: Questions,
  terminal: Terminal,
): Promise<Added> {
  const { stdout, stderr, signal } = terminal;
  const failed = async (code: ExitCode, text: ShownText): Promise<void> => {
    worst = worst === EXIT_OK ? code : worst;
    await print(stderr, shown`sandgate: ${text}`);
  };
  guardFiles([{ path: config, access: "read" }]);
  let worst: ExitCode = EXIT_OK;
  let tokens: ConsoleTokens | undefined;
  let isServed = false;
  const names: string[] = [];
  for (const server of found) {
    const { name } = server;
    const secrets = new SecretFiles(config);
    try {
      const existing = ConfigFile.exists(config) ? await ConfigFile.open(config) : undefined;
      if (existing !== undefined && Object.hasOwn(existing.servers, name)) {
        await failed(
          EXIT_BAD_INPUT,
          shown`${config} has a server '${name}' already: choose another name, or remove that one`,
        );
        continue;
      }
      const context = { config, secrets, questions, terminal, scripts, signal };
      const tried = await prepareServer(server, grants, context);
      await print(stdout, showTried(name, tried));
      if (tried.trial.problem !== undefined) {
        await secrets.remove();
        await failed(EXIT_TOOL_FAILED, shown`'${name}' was not added: grant what it needs, and add it again`);
        continue;
      }
      let file = existing;
      if (file === undefined) {
        const who = confirming ?? (await askWho(questions));
        if (who === "console") tokens = await consoleTokens(config);
        file = ConfigFile.create(config, who, tokens);
      }
      const { tools: classes, hasOffers } = tried.trial;
      const rule = file.add({ name, server: tried.server, classes, hasOffers });
      await file.save();
      isServed = file.isServed;
      names.push(name);
      await print(stdout, shown`${config}: '${name}' was added`);
      if (rule !== undefined)
        await print(
          stdout,
          joinShown([shown`its policy has no list of rules here. Add:`, shown`${rule}`], "\n"),
        );
    } catch (error) {
      await secrets.remove();
      if (!(error instanceof PackageProblem)) throw error;
      await failed(EXIT_TOOL_FAILED, shown`'${name}' was not added: ${error.message}`);
    }
  }
  if (names.length > 0) await print(stderr, nextSteps(config, tokens, isServed));
  return { code: worst, names, tokens };
}

/** What to do after servers were added. */
function nextSteps(config: string, tokens: ConsoleTokens | undefined, isServed: boolean): ShownText {
  const path = relative(process.cwd(), config) || config;
  const lines = [
    shown`Next, read and approve what the tools say: ${ownCommand()} mcp pin --config ${path}`,
    ...(tokens === undefined
      ? [
          isServed
            ? shown`then: ${ownCommand()} serve --config ${path}`
            : shown`then, in the client's config: sandgate mcp serve --config ${path}`,
        ]
      : [
          shown`then: ${ownCommand()} serve --config ${path}`,
          shown`The client connects to http://127.0.0.1:7420/mcp with the token in ${tokens.client.file}`,
          shown`You confirm at http://127.0.0.1:7420/console/ with the token in ${tokens.approver.file}`,
        ]),
  ];
  return joinShown(lines, "\n");
}

async function askWho(questions: Questions): Promise<Confirming> {
  const answer = await questions.ask(
    shown`Who confirms calls: you, at the console, or the person at the client, which an agent can control, so that destructive tools are denied? [CONSOLE/client]`,
  );
  return /^client$/i.test(answer) ? "client" : "console";
}

async function consoleTokens(config: string): Promise<ConsoleTokens> {
  const secrets = new SecretFiles(config);
  const make = (): string => randomBytes(32).toString("base64url");
  return {
    client: await secrets.write("server", "client", make()),
    approver: await secrets.write("server", "approver", make()),
  };
}
