/** This package's own folder, with a slash at the end: as far from here as from where this is built to. */
export const PACKAGE_FOLDER: URL = new URL("../../", import.meta.url);
