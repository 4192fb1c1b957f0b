/** Prints the version of Landlock's interface. */
import { writeSync } from "node:fs";
import { landlockVersion } from "./ruleset.ts";

writeSync(1, `${landlockVersion()}`);
