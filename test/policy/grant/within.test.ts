import { expect, test } from "vitest";
import { checkGrant, type GrantOptions, isWithinGrant } from "../../../src/policy/grant/execution-grant.ts";

const SHOWN: GrantOptions = {
  sandbox: "quickjs",
  limits: { wallTimeMs: 1_000 },
  capabilities: { tools: ["get_*"], net: ["https://example.com"], clock: true, frozenClock: 5 },
};

test.each<[string, GrantOptions, boolean]>([
  ["the same", SHOWN, true],
  ["a lower limit and a further one", { ...SHOWN, limits: { wallTimeMs: 500, outputBytes: 10 } }, true],
  ["fewer capabilities", { ...SHOWN, capabilities: { tools: ["get_*"], frozenClock: 5 } }, true],
  ["a narrower pattern", { ...SHOWN, capabilities: { tools: ["get_mail"], frozenClock: 5 } }, true],
  ["another sandbox", { ...SHOWN, sandbox: "host" }, false],
  ["a higher limit", { ...SHOWN, limits: { wallTimeMs: 1_001 } }, false],
  ["no limit", { ...SHOWN, limits: {} }, false],
  ["a wider pattern", { ...SHOWN, capabilities: { tools: ["*"], frozenClock: 5 } }, false],
  ["a further capability", { ...SHOWN, capabilities: { random: true, frozenClock: 5 } }, false],
  ["another origin", { ...SHOWN, capabilities: { net: ["https://example.org"], frozenClock: 5 } }, false],
  ["no frozen clock", { ...SHOWN, capabilities: { clock: true } }, false],
])("a grant with %s is within one that was shown: %#", (_name, grant, expected) => {
  expect(isWithinGrant(checkGrant(grant), checkGrant(SHOWN))).toBe(expected);
});
