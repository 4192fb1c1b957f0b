import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import type { Sender } from "../../../../src/http/authentication.ts";
// Inside: begins 5,000 logins of 100 credentials, without as many requests of browsers.
import { Logins } from "../../../../src/server/console/logins.ts";

const ORIGIN = "http://127.0.0.1:7420";

function sender(caller: string): Sender {
  return { caller, credential: caller, principal: undefined, isSigned: false };
}

function request(cookie: string): IncomingMessage {
  return { method: "GET", headers: { cookie: `sandgate_console=${cookie}` } } as IncomingMessage;
}

test("thousands of logins of many credentials end the oldest: 32 of each remain, and 1,000 in all", () => {
  const logins = new Logins();
  const cookies = Array.from({ length: 5_000 }, (_, index) =>
    logins.begin(sender(`token ${index % 100}`), ORIGIN),
  );
  const open = cookies.map((cookie) => logins.of(request(cookie))).filter((login) => login !== undefined);
  expect(open.length).toBe(1_000);
  expect(logins.of(request(cookies.at(-1) ?? ""))?.sender.caller).toBe("token 99");
  const own = Array.from({ length: 1_000 }, () => logins.begin(sender("token 1"), ORIGIN));
  expect(own.filter((cookie) => logins.of(request(cookie)) !== undefined)).toEqual(own.slice(-32));
  logins.close();
  expect(logins.of(request(own.at(-1) ?? ""))).toBeUndefined();
});

test("of more than 100 one-time tokens, the oldest no longer work", () => {
  const logins = new Logins();
  const tokens = Array.from({ length: 150 }, (_, index) => logins.issue(sender(`token ${index}`)));
  const callers = tokens.map((token) => logins.redeem(token)?.caller);
  expect(callers).toEqual(tokens.map((_, index) => (index < 50 ? undefined : `token ${index}`)));
  expect(tokens.map((token) => logins.redeem(token))).toEqual(tokens.map(() => undefined));
});
