import { expect, test } from "vitest";
import { exportedNames } from "./names.ts";

test("sandgate/server exports exactly these names", async () => {
  expect(await exportedNames("server")).toEqual({
    values: ["startServer"],
    types: [
      "AccessTokenOptions",
      "AdminAction",
      "AdminEvent",
      "AdminOptions",
      "Credential",
      "PrincipalClaims",
      "Receiver",
      "Role",
      "ServedConsole",
      "ServedMcp",
      "ServedSessions",
      "Server",
      "ServerOptions",
      "SignatureAlgorithm",
      "TokenType",
    ],
  });
});
