/**
 * The site of the documentation: the Markdown files of docs/, as they are, with a search that runs in the browser.
 *
 *     npm ci --prefix site --ignore-scripts && npm run --prefix site build
 */
import { copyFileSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { defineConfig } from "vitepress";

const DOCS = join(import.meta.dirname, "../pages");

/** The address of the repository, for links to files outside of docs/. Default: such links are texts. */
const REPOSITORY = process.env.SANDGATE_REPOSITORY;

/** The sections of docs/index.md, with the pages that each of them links to. */
function sidebar() {
  const text = readFileSync(join(DOCS, "index.md"), "utf8");
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = "", ...lines] = section.split("\n");
      const links = [...lines.join("\n").matchAll(/\[([^\]]+)\]\(([^)#]+\.md)\)/g)];
      const pages = new Map(
        links.filter(([, , path]) => !path.startsWith("..")).map(([, name, path]) => [path, name]),
      );
      return {
        text: title,
        collapsed: title === "Reference",
        items: [...pages].map(([path]) => ({ text: titleOf(path), link: `/${path.replace(/\.md$/, "")}` })),
      };
    });
}

/** The first heading of a page, without its markup. */
function titleOf(path) {
  const [, title = path] = /^# (.*)$/m.exec(readFileSync(join(DOCS, path), "utf8")) ?? [];
  return title.replaceAll("`", "");
}

/** Rewrites links to files outside of docs/, or that are not pages. */
function outsideLinks(md) {
  const render =
    md.renderer.rules.link_open ??
    ((tokens, index, options, _, self) => self.renderToken(tokens, index, options));
  md.renderer.rules.link_open = (tokens, index, options, env, self) => {
    const token = tokens[index];
    const href = token?.attrGet("href") ?? "";
    const path = posix.join("docs", posix.dirname(env.relativePath ?? ""), href.split("#")[0]);
    if (token !== undefined && !/^[a-z]+:|^#/.test(href) && !path.startsWith("docs/")) {
      token.attrSet("href", REPOSITORY === undefined ? "#" : `${REPOSITORY}/blob/main/${path}`);
      token.attrSet("title", path);
    }
    return render(tokens, index, options, env, self);
  };
}

export default defineConfig({
  title: "Sandgate",
  description: "Dispatches the tool calls of LLM agents",
  // A copy of docs/, since Vite resolves modules from where the pages are.
  srcDir: "pages",
  outDir: "dist",
  // Nothing of the pages comes from another host.
  head: [["meta", { name: "referrer", content: "no-referrer" }]],
  markdown: { config: outsideLinks },
  // Links out of docs/ are rewritten above.
  ignoreDeadLinks: [/^(?:\.\/)?(?:\.\.\/)+(?!.*\.md$)|openapi|SECURITY|CHANGELOG|README|CONTRIBUTING/],
  vite: { esbuild: { tsconfigRaw: {} } },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: sidebar(),
    nav: [
      { text: "Use it", link: "/#use-it-behind-my-agent" },
      { text: "Write a policy", link: "/#write-a-policy" },
      { text: "Write a tool", link: "/#write-a-tool" },
      { text: "Operate it", link: "/#operate-it" },
    ],
  },
  buildEnd: ({ outDir }) => copyFileSync(join(DOCS, "openapi.yaml"), join(outDir, "openapi.yaml")),
});
