/**
 * The parts of ajv and ajv-formats that the package uses. The build bundles them into one file: Node takes 25 ms to load
 * their hundred files, and 7 ms to load one. Load it with `loadAjv`.
 */
export { _, Ajv } from "ajv";
export { Ajv2020 } from "ajv/dist/2020.js";
export { fullFormats } from "ajv-formats/dist/formats.js";
