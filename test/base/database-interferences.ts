import { chmodSync, copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";

/** What another process can do to the files of an SQLite database that is open. */
export const DATABASE_INTERFERENCES: readonly {
  readonly what: string;
  readonly act: (file: string) => void;
  /** What an open store says then. */
  readonly problem: RegExp;
}[] = [
  { what: "its file was removed", act: (file) => rmSync(file), problem: /removed or renamed/ },
  {
    what: "its file was renamed",
    act: (file) => renameSync(file, `${file}.old`),
    problem: /removed or renamed/,
  },
  {
    what: "its file was replaced by a copy",
    act: (file) => {
      copyFileSync(file, `${file}.copy`);
      renameSync(`${file}.copy`, file);
    },
    problem: /replaced by another file/,
  },
  {
    what: "its file was replaced by a link to a copy",
    act: (file) => {
      renameSync(file, `${file}.old`);
      copyFileSync(`${file}.old`, `${file}.copy`);
      symlinkSync(`${file}.copy`, file);
    },
    problem: /replaced by another file/,
  },
  {
    what: "its file was replaced by a folder",
    act: (file) => {
      rmSync(file);
      mkdirSync(file);
    },
    problem: /replaced by another file/,
  },
  { what: "its file was made read-only", act: (file) => chmodSync(file, 0o400), problem: /read-only/ },
  {
    what: "its log was removed",
    act: (file) => rmSync(`${file}-wal`),
    problem: /-wal' was removed or renamed/,
  },
];
