import { WorkspaceError } from "../../src/workspace/error.ts";
import { Workspace } from "../../src/workspace/workspace.ts";

/** Replaces `old.txt` in the directory of the first argument by 64 KiB, and prints the code of the error, or `done`. */
const [, , root = ""] = process.argv;
using workspace = new Workspace([{ directory: root, write: true }], 1_048_576);
const [mounted] = workspace.directories;
try {
  if (mounted === undefined) throw new Error("no directory was granted");
  using replacement = mounted.directory.replace("old.txt");
  replacement.file.write(0, Buffer.alloc(65_536, "x"));
  replacement.file.sync();
  replacement.commit();
  console.log("done");
} catch (error) {
  if (!(error instanceof WorkspaceError)) throw error;
  console.log(error.code);
}
