import { readFile } from "node:fs/promises";

/**
 * The package's folder, as a `file:` URL that ends with a slash. This file has to stay one folder below `src`: the
 * build puts its code into `dist/cli` or `dist/chunks`.
 */
export const PACKAGE_FOLDER: URL = new URL("../../", import.meta.url);

/** The text of `sandgate --help`. */
export const HELP_TEXT = `Usage:
  sandgate dispatch [FILE|-] --config sandgate.yaml [--format FORMAT] [--output OUTPUT]
                    [--events] [--confirm | --dry-run]
  sandgate check --config sandgate.yaml
  sandgate doctor [--config sandgate.yaml] [--json]
  sandgate policy explain --config sandgate.yaml --call JSON [--principal JSON] [--session ID]
                          [--user-text TEXT] [--earlier JSON]
                          [--workspace DIR] [--json]
  sandgate policy test [CASES.yaml] [--config sandgate.yaml]
  sandgate policy diff OLD NEW --journal DIR|FILE... [--accept-wider]
  sandgate policy prove --config sandgate.yaml
  sandgate serve --config sandgate.yaml [--listen HOST:PORT|unix:PATH]
  sandgate supervise [--config sandgate.yaml] [--agent NAME] [--fd 3] [--unconfined]
                     [--env NAME]... -- PROGRAM [ARGUMENT]...
  sandgate journal verify DIR|FILE... [--key FILE]... [--checkpoint FILE]...
  sandgate journal show PLACE [CALL_ID] [--session ID] [--tool NAME] [--since TIME]
                        [--json | --as policy-test]
  sandgate journal tail PLACE [-f] [--session ID] [--tool NAME] [--since TIME] [--json]
  sandgate journal replay PLACE
  sandgate journal forget PLACE --session ID
  sandgate journal keygen --name NAME [--out FILE]
  sandgate why CALL_ID PLACE
  sandgate mcp pin --config sandgate.yaml
  sandgate mcp diff --config sandgate.yaml [--accept]
  sandgate mcp serve --config sandgate.yaml [--workspace DIR]
  sandgate mcp login|logout SERVER --config sandgate.yaml
  sandgate confirm URL [--token-file FILE] [--watch]
  sandgate tool run FILE [--input JSON] [--policy FILE] [--store FILE] [--export NAME]
                         [--tool NAME] [--engine jco]
  sandgate tool check FILE... [--export NAME] [--engine jco]
                         [--grant FILE [--value CAPABILITY=VALUE]...]
  sandgate tool inspect FILE.wasm
  sandgate tool component CORE.wasm --out FILE.wasm
  sandgate tool new DIR [--language LANGUAGE] [--wasm | --key-value]
  sandgate --help | --version

dispatch reads an assistant message with tool calls from FILE (default: standard input),
whole or as a recorded stream, dispatches each call, and prints the results.
  -c, --config   the tools, the policy and the sandboxes
  --format       the format of the message: auto (default) detects it among native, openai,
                 openai-responses, anthropic, ai-sdk, google, cohere and bedrock
  --output       table (default), json, or messages to send back to the provider
  --events       also write the operator's log of the calls to standard error
  --confirm      asks on the terminal about the calls that need a confirmation
  --dry-run      prints the decision and the grant of each call, and runs nothing

check loads everything that the config names, and reports every problem.

doctor prints which sandboxes and limits hold on this machine, and how others can be had.
  -c, --config   also prints what this config uses that does not hold

policy works on the rules of a config (docs/policies.md).
  explain        prints what is decided on a call, and why: --call '{"tool":…,"arguments":…}'
  test           decides on the calls of a file and compares; CASES.yaml is by default
                 sandgate.policy-test.yaml beside the config, and that is sandgate.yaml
  diff           decides on the recorded calls of journals under two policy files or configs,
                 and prints what changed
  prove          prints which invariants hold for every call, and calls that violate others

serve dispatches calls over HTTP until SIGTERM, and reloads tools, policy, keys and modes on
SIGHUP: see docs/remote-protocol.md. It writes the operator's log to standard error: see
docs/operations.md.
  -l, --listen   the address; default: the config's server.listen, or 127.0.0.1:7420

supervise runs an agent as a child process, and answers the tool calls that it writes as lines:
see docs/supervisor.md. The agent is confined: it sees the system's files and, read-only, the
working directory, and has no network. It exits with the agent's code.
  -c, --config   has the tools, and what each agent may have done for it; default: sandgate.yaml
  -a, --agent    which of the config's agents; default: the only one
  --fd 3         takes the calls from the agent's descriptor 3, a socket; default: from its
                 standard output, with the answers on its standard input
  -e, --env      a variable that the agent gets
  --unconfined   does not confine the agent: it can do everything that you can

journal works on the record of calls (docs/journal.md). PLACE is --directory DIR, the journal
itself, or --config FILE, a config that has one.
  verify         finds what was changed, left out or cut off; without --key, checkpoints are
                 not checked
  show, tail     print records; tail -f waits for more; --as policy-test prints calls as cases
                 of a policy test
  replay         decides each recorded call again
  forget         deletes the key of a session's sealed arguments
  keygen         creates the keys that sign and verify checkpoints: FILE and FILE.pub
why prints rules, near misses, grant and receipt of a call.
mcp works on the definitions of tools that a person approved (docs/pins.md).
  pin            writes them to the lock: sandgate.lock beside the config, or its 'lock'
  diff           prints what changed since; --accept writes it to the lock
  serve          serves the tools to a client of MCP over standard input and output; the log
                 goes to standard error: see docs/mcp-server.md. serve above does so at /mcp
  login          prints the page on which a person lets Sandgate use an MCP server with 'oauth',
                 and keeps the tokens: see docs/mcp.md. logout deletes them
confirm lists the questions that wait on a server of sessions, and has you answer them: see
docs/sessions.md. Without a terminal, it only lists them.
  --token-file   the file with an approver's token; default: the variable SANDGATE_TOKEN
  -w, --watch    waits for further questions until interrupted

tool run calls a tool and prints its result, log and receipt. JavaScript and TypeScript run
in QuickJS, WebAssembly components in the Wasm sandbox.
  -i, --input    the tool's input; default: {}
  -p, --policy   the policy file that grants the call; default: the sandbox's own limits
  -s, --store    the file that keeps the key-value stores; default: they end with the call
  -e, --export   the exported function; default: 'default', or the only tool of a component
  -t, --tool     which of a component's tools; default: the only one
  --engine       jco: runs a component that you trust with the code that jco generates
tool check loads tools without calling them, and reports their problems: also the
globals that a JavaScript tool uses and the sandbox does not have.
  -g, --grant    writes a policy that grants what the tools import or mention
  --value        names what that policy grants: net=https://api.example.com, keyValue=notes,
                 tools=read_*, fs=DIRECTORY; may be repeated
tool inspect prints the exports of a component, with JSON schemas, and the grant that each
of its imports needs. It does not run the component.
tool component makes a component of a core module that exports the world sandgate:tool.
tool new creates a project with a tool and its test: see docs/cookbook. It overwrites no files.
  -l, --language javascript (default) and typescript run in QuickJS; c, assemblyscript and
                 rust are components. rust needs the target wasm32-unknown-unknown
  --wasm         a component, also in javascript
  --key-value    a tool that keeps values, in assemblyscript

Exit codes: 0 if all calls were dispatched, even if tools failed; 1 if the tool of a tool
run failed, the config of a doctor uses what does not hold here, a journal contradicts itself, a decision differs from the recorded or expected
one, an invariant is not proved, a definition differs from the lock, or there is no such call or key; 3 if a policy diff found that NEW permits more; 2 if the command line, the config, the message or a tool's file is invalid;
130 if interrupted. supervise exits with the agent's code, and with 128 and the number of the
signal that ended it.`;

/** Reads the version of this package. */
export async function readVersion(): Promise<string> {
  const text = await readFile(new URL("package.json", PACKAGE_FOLDER), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
