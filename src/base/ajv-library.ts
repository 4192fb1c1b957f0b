import { _, Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { fullFormats } from "ajv-formats/dist/formats.js";

/** The parts of ajv and ajv-formats that the package uses. */
export interface AjvLibrary {
  readonly _: typeof _;
  readonly Ajv: typeof Ajv;
  readonly Ajv2020: typeof Ajv2020;
  readonly fullFormats: typeof fullFormats;
}

/**
 * Load it with `loadAjv`. The build bundles it into one file: Node takes 25 ms to load the hundred files of ajv, and 7 ms
 * to load one.
 */
export const LIBRARY: AjvLibrary = { _, Ajv, Ajv2020, fullFormats };
