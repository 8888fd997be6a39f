import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Exchange } from './server/exchange.ts';

/** Everything that a program has written, anywhere. */
export interface Written {
  /** The file that holds a text; undefined if none does. */
  findText(text: string): string | undefined;
  /** The file that states an answer's output tokens, which are like no other number of the lab. */
  findOutput(exchange: Exchange): string | undefined;
}

/** Files beyond this hold no session of the lab. */
const MAX_FILE_BYTES = 64 * 1024 ** 2;

/** Looks into files as they are. Texts of the lab are plain, so that JSON and SQLite hold them unchanged. */
export function createWritten(files: ReadonlyMap<string, string>): Written {
  const find = (isIn: (text: string) => boolean): string | undefined => [...files].find(([, text]) => isIn(text))?.[0];
  return {
    findText: (text) => find((content) => content.includes(text)),
    findOutput({ tokens }) {
      const number = new RegExp(`(?<![\\d.])(?:${tokens.output}|${tokens.output - tokens.reasoning})(?![\\d.])`);
      return find((content) => number.test(content));
    },
  };
}

/** Contents of files, and of all files in folders, one character a byte. */
export function readContents(paths: readonly string[]): Map<string, string> {
  const contents = new Map<string, string>();
  for (const path of paths) {
    const isFolder = statSync(path).isDirectory();
    for (const file of isFolder ? listFiles(path) : [path]) {
      if (statSync(file).size <= MAX_FILE_BYTES) contents.set(file, readFileSync(file, 'latin1'));
    }
  }
  return contents;
}

const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
