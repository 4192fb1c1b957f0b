/**
 * The package's folder, as a `file:` URL that ends with a slash. This file has to stay one folder below `src`: the
 * build puts its code into `dist/chunks` or another folder of `dist`.
 */
export const PACKAGE_FOLDER: URL = new URL("../../", import.meta.url);
