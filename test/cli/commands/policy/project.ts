import { createFolder } from "../../sandgate.ts";

/** A config whose policy has rules of every effect, and the file that it names. */
const FILES: Record<string, string> = {
  "sandgate.yaml": `
tools:
  - name: read_file
    description: Reads a file
    inputSchema: { type: object, properties: { path: { type: string } }, required: [path] }
    sideEffects: read
    host: { module: tools.mjs, export: run, thread: false }
  - name: deploy
    description: Deploys
    inputSchema: { type: object, properties: { environment: { type: string } } }
    host: { module: tools.mjs, export: run, thread: false }
policy:
  rules:
    - name: sources
      tools: [read_file]
      effect: allow
      when: { /path: { glob: "src/**" } }
      sandboxes: [host]
      limits: { wallTime: 2s }
    - { name: everyone, tools: [read_file], effect: allow, principals: ["staff:*"], sandboxes: [host] }
    - { name: asks, tools: [deploy], effect: ask, sandboxes: [host], question: Deploy? }
    - { name: keys, tools: ["*"], effect: deny, when: { /path: { glob: "**/*.key" } } }
`,
  "tools.mjs": "export const run = () => 'done';",
};

/** Creates a folder with the project and other files. */
export function createProject(files: Record<string, string> = {}): Promise<string> {
  return createFolder({ ...FILES, ...files });
}
