// Builds the page with Bun's bundler: scripts with their lazy parts, the stylesheet and the HTML file, compressed, as one
// archive. tools/build.ts calls it, and so does skein when it runs from source. The built program does not contain it.
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { PageArchive } from "../server/page-files.ts";

const pageDir = join(import.meta.dir, "../page");

const types: Record<string, string> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

export async function buildPage(): Promise<PageArchive> {
  const { outputs } = await Bun.build({
    entrypoints: [join(pageDir, "main.tsx"), join(pageDir, "style.css")],
    target: "browser",
    format: "esm",
    splitting: true,
    minify: true,
    // The settings of the page's tsconfig.json, which a checkout that runs from source does not load.
    jsx: { runtime: "automatic", importSource: "preact", development: false },
    naming: { entry: "[name]-[hash].[ext]", chunk: "[name]-[hash].[ext]" },
  });
  const texts = new Map<string, string>();
  for (const output of outputs) texts.set(`assets/${output.path.replace(/^.*\//, "")}`, await output.text());
  const icon = await Bun.file(join(pageDir, "icon.svg")).text();
  // A browser requests the icon again for each address of a view. A name with a hash lets it use its cache.
  texts.set(`assets/icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`, icon);
  const assetOf = (pattern: RegExp) => [...texts.keys()].find((name) => pattern.test(name))!;
  const html = (await Bun.file(join(pageDir, "index.html")).text())
    .replace("./style.css", assetOf(/\/style-\w+\.css$/))
    .replace("./main.tsx", assetOf(/\/main-\w+\.js$/))
    .replace("icon.svg", assetOf(/\/icon-\w+\.svg$/));
  texts.set("index.html", html);
  return toArchive(texts);
}

/** The HTML file has the build's name, so that an open page can compare itself with the hub. */
function toArchive(texts: ReadonlyMap<string, string>): PageArchive {
  const sorted = [...texts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const build = createHash("sha256").update(JSON.stringify(sorted)).digest("hex").slice(0, 16);
  const files = sorted.map(([name, text]) => {
    const gzip = Bun.gzipSync(Buffer.from(text.replace("$BUILD", build)), { level: 9 });
    return [name, { type: types[name.split(".").at(-1)!]!, gzip: Buffer.from(gzip).toString("base64") }];
  });
  return { build, files: Object.fromEntries(files) };
}
