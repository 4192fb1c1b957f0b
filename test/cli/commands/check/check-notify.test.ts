import { join } from "node:path";
import { expect, test } from "vitest";
import { createFolder, sandgate } from "../../sandgate.ts";

const TOOL = `tools:
  - name: note
    description: Writes
    inputSchema: { type: object }
    quickjs: { source: "export default () => 1" }
policy: { rules: [{ tools: [note], effect: allow, sandboxes: [quickjs] }] }
`;

const SERVER = `server:
  sessions: true
  console: true
  listen: 127.0.0.1:0
  credentials:
    - { id: alice, token: { file: alice.token }, roles: [caller] }
    - { id: carol, token: { file: carol.token }, roles: [approver], approves: [alice] }
`;

const FILES = {
  "alice.token": "token-of-the-agent-alice",
  "carol.token": "token-of-the-person-carol",
  hook: "https://hooks.example.com/services/secret-part\n",
  key: `${"A".repeat(42)}8\n`,
  "subscriptions.json": '[{ "endpoint": "https://push.example.com/1" }]',
  password: "the-password\n",
};

/** Checks a config whose `notify` is this, and returns the problems. */
async function problems(notify: string, server = SERVER): Promise<string> {
  const config = `${TOOL}${server}confirmations:\n  notify: ${notify}\n`;
  const folder = await createFolder({ "sandgate.yaml": config, ...FILES });
  const { stdout } = await sandgate(["check", "--json", "--config", join(folder, "sandgate.yaml")]);
  expect(stdout).not.toMatch(/secret-part|the-password/);
  const found = (JSON.parse(stdout) as { problems: { severity: string; message: string }[] }).problems;
  return found.map(({ severity, message }) => `${severity}: ${message}`).join("\n");
}

test.each([
  "{ slack: { url: { file: hook } } }",
  "{ teams: { url: { file: hook } }, consoleUrl: 'https://console.example.com', summary: true }",
  "{ ntfy: { topic: { file: carol.token }, token: { file: password } } }",
  "{ email: { server: 'smtps://mail.example.com', user: ann, password: { file: password }, from: a@example.com, to: [b@example.com] } }",
  "{ url: 'https://example.com', consoleUrl: 'https://console.example.com', links: answer, approver: carol }",
])("sandgate check accepts notify: %s", async (notify) => {
  expect(await problems(notify)).toBe("");
});

test.each([
  ["{ summary: true }", "error: must have exactly one of command, url, slack"],
  ["{ slack: { url: 'https://hooks.example.com/x' } }", "error: must have either file or env"],
  ["{ slack: { url: { file: hook } }, ntfy: { topic: { file: key } } }", "error: must have exactly one of"],
  ["{ slack: { url: { env: NO_SUCH_VARIABLE } } }", "error: the environment variable is not set"],
  ["{ slack: { url: { file: password } } }", "error: notify.slack.url must be an http or https URL"],
  [
    "{ webPush: { key: { file: key }, contact: 'mailto:a@example.com', subscriptions: subscriptions.json } }",
    "error: the file must have a JSON list of subscriptions",
  ],
  [
    "{ url: 'https://example.com', links: answer, approver: carol }",
    "error: notify.links: answer needs notify.consoleUrl",
  ],
  [
    "{ url: 'https://example.com', consoleUrl: 'https://a.example', links: answer, approver: dave }",
    "warning: no credential with the role 'approver' has this id",
  ],
])("sandgate check finds what is wrong with notify: %s", async (notify, problem) => {
  expect(await problems(notify)).toContain(problem);
});

test("sandgate check says that nobody is notified, or that links lead nowhere", async () => {
  const notify = "{ url: 'https://example.com', consoleUrl: 'https://a.example' }";
  expect(await problems(notify, "server: { listen: '127.0.0.1:0' }\n")).toContain(
    "nobody is notified without 'sessions: true'",
  );
  expect(await problems(notify, SERVER.replace("  console: true\n", ""))).toContain("links lead nowhere");
});
