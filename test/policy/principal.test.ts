import { describe, expect, test } from "vitest";
import { checkPrincipal } from "../../src/policy/principal.ts";

describe("checkPrincipal", () => {
  test("returns a deeply frozen copy, which later changes of the original do not reach", () => {
    const roles = ["reader"];
    const attributes = { tenant: { id: 7 } };
    const checked = checkPrincipal({ id: "ada", kind: "user", roles, attributes });
    roles.push("admin");
    attributes.tenant.id = 8;
    expect(checked).toEqual({
      id: "ada",
      kind: "user",
      roles: ["reader"],
      attributes: { tenant: { id: 7 } },
    });
    expect([checked, checked.roles, checked.attributes?.["tenant"]].every(Object.isFrozen)).toBe(true);
  });

  test("returns a principal that it checked before unchanged", () => {
    const checked = checkPrincipal({ id: "ada", kind: "user" });
    expect(checkPrincipal(checked)).toBe(checked);
  });

  test.each([
    ["nothing", null],
    ["no id", { kind: "user" }],
    ["an empty id", { id: "", kind: "user" }],
    ["an id with half a character", { id: "\ud800", kind: "user" }],
    ["another kind", { id: "ada", kind: "root" }],
    ["roles that are no list", { id: "ada", kind: "user", roles: "admin" }],
    ["attributes that are no object", { id: "ada", kind: "user", attributes: [] }],
    ["an unknown member", { id: "ada", kind: "user", admin: true }],
  ])("refuses %s", (_name, principal) => {
    expect(() => checkPrincipal(principal as never)).toThrow();
  });
});
