// A process of its own: starts the command of its arguments, and passes bytes on between it and its own standard streams.
import { spawn } from "node:child_process";

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
process.stdin.pipe(child.stdin);
child.stdout.pipe(process.stdout);
child.once("exit", (code) => process.exit(code ?? 1));
