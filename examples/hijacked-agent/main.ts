/**
 * An agent reads a mail that tells it what to do, and obeys. The policy lets it do what the user asked for; about the rest,
 * a person is asked, who says no. Run it from the root of the repository, after `npm run build`:
 * `node examples/hijacked-agent/main.ts`.
 */
import { join } from "node:path";
import { run } from "./run.ts";

for (const line of await run(join(import.meta.dirname, "policy.yaml"))) console.log(line);
