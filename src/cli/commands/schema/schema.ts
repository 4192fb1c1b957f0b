import { ShownText } from "../../../rendering/shown-text.ts";
import { EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { configSchema } from "./config-schema.ts";

/** Prints the JSON Schema of `sandgate.yaml`. */
export async function schema({ stdout }: Terminal): Promise<ExitCode> {
  await print(stdout, new ShownText(JSON.stringify(configSchema(), null, 2), { isData: true }));
  return EXIT_OK;
}
