import type { Environment } from "./environment.ts";

const LAYOUT = "export default ({ children }) => <html lang='en'><body>{children}</body></html>;\n";

/** A route of Next.js that dispatches the calls. */
const ROUTE = `import * as sandgate from "sandgate";
import { dispatch } from "../../dispatch.mjs";
export const dynamic = "force-dynamic";
export const GET = async () => new Response("RESULTS " + JSON.stringify(await dispatch(sandgate)));
`;

/** Next.js bundles what a route imports, unless it is in \`serverExternalPackages\`. */
export const NEXT: Environment = {
  name: "Next.js",
  packages: ["next@16.4.6", "react@19.3.1", "react-dom@19.3.1"],
  ways: (["bundled", "external"] as const).map((name) => ({
    name,
    files: {
      "app/layout.jsx": LAYOUT,
      "app/calls/route.js": ROUTE,
      "next.config.mjs": `export default {
  serverExternalPackages: ${name === "external" ? '["sandgate"]' : "[]"},
  typescript: { ignoreBuildErrors: true },
  turbopack: { root: import.meta.dirname },
};
`,
    },
    build: ["node", "node_modules/next/dist/bin/next", "build"],
    run: ["node", "node_modules/next/dist/bin/next", "start", "--hostname", "127.0.0.1"],
    serves: true,
  })),
};
