// The files of the page: from the executable, from the npm package, or built from source in a checkout. They are one archive,
// so that a build has one file more and other commands never read it.
import { dirname, join } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import type { buildPage as BuildPage } from "../build/build-page.ts";

export type PageFile = { type: string; gzip: Uint8Array<ArrayBuffer> };
export type PageFiles = {
  /** Changes with every file of the page. An open page of another build loads itself again. */
  build: string;
  files: ReadonlyMap<string, PageFile>;
};

/** The archive in JSON. Bodies are compressed once, at build time, and encoded in base64. */
export type PageArchive = { build: string; files: Record<string, { type: string; gzip: string }> };

export const archiveName = "web-page.bundle";

export async function loadPageFiles(): Promise<PageFiles> {
  return toPageFiles(await findArchive());
}

export function toPageFiles({ build, files }: PageArchive): PageFiles {
  const entries = Object.entries(files).map(([name, { type, gzip }]): [string, PageFile] => [
    name,
    { type, gzip: Uint8Array.from(Buffer.from(gzip, "base64")) },
  ]);
  return { build, files: new Map(entries) };
}

async function findArchive(): Promise<PageArchive> {
  const embedded = Bun.embeddedFiles.find((file) => (file as File).name.endsWith(archiveName));
  if (embedded !== undefined) return JSON.parse(await embedded.text());
  const packaged = Bun.file(join(dirname(Bun.main), archiveName));
  if (await packaged.exists()) return packaged.json();
  if (!Bun.main.endsWith(".ts")) throw new Fault("internal", `${archiveName} is missing beside ${Bun.main}`);
  // Only a checkout has the sources. The name is computed, so that the bundler leaves the build out of the program.
  const builder = join(import.meta.dir, "../build/build-page.ts");
  const { buildPage } = (await import(builder)) as { buildPage: typeof BuildPage };
  return buildPage();
}
