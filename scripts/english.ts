import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Plain English, as engineers whose first language it is write it: words to avoid, with what to write instead. */
interface Rule {
  words: RegExp;
  instead: string;
  kind?: Kind;
}

type Kind = 'comment' | 'test' | 'message' | 'docs';

interface Passage {
  kind: Kind;
  /** From 1. */
  line: number;
  text: string;
}

const RULES: readonly Rule[] = [
  {
    kind: 'comment',
    words: /^(?:What|Whether|Whose|Where|When|How)\b(?!.*\?)/,
    instead: 'begin with a noun or a verb',
  },
  {
    kind: 'test',
    words: /^(?:that|those|of|and|or|nor|but|in|by|with|at|from|for|as|to|on|over|after|before|when|if|what|also)\b/i,
    instead: 'begin with a verb or a subject, so that the name stands alone',
  },
  {
    words: /\b(?:of|in|to|from|with|by|on|at|for|after|before) which\b/i,
    instead: 'write “whose”, “where” or “that”, or two sentences',
  },
  { words: /\b(?:that|those) of\b/i, instead: 'repeat the noun, or use the genitive' },
  { words: /\b(?:nobody|whoever|anybody|everybody)\b/i, instead: 'write “no one”, “anyone who” or the noun' },
  { words: /\bfor (?:good|ever)\b/i, instead: 'write “permanently” or “always”' },
  { words: /\bat once\b/i, instead: 'write “immediately”, “together” or “at a time”' },
  { words: /\b(?:meanwhile|in the meantime|by now)\b/i, instead: 'write “while it runs” or “since then”' },
  { words: /\bas far as\b/i, instead: 'write “up to” or “if”' },
  { words: /\bof (?:its|their|our|your|his) own\b/i, instead: 'write “its own” or “separate” before the noun' },
  { words: /\bdear(?:er|est)\b/i, instead: 'write “more expensive” or “most expensive”' },
  { words: /\bbr(?:ings?|ought)\b/i, instead: 'write “upload”, “contain” or “install”' },
  { words: /\b(?:stands?|lies?) (?:beside|nowhere|in|on|below|apart|before)\b/i, instead: 'write “is”' },
  { words: /\b(?:goes|go|went|gone) on\b/i, instead: 'write “continue”' },
  { words: /\bquarters? of an hour\b/i, instead: 'write “15-minute bucket” or “15 minutes”' },
];

/** Tables, links and code in Markdown quote names and data. */
const QUOTED = /`[^`]*`|“[^”]*”|\]\([^)]*\)|\$\{[^}]*\}/g;
const STRING = /(['"`])((?:\\.|(?!\1).)*)\1/g;
const TEST_NAME = /^\s*(?:it|test)(?:\.\w+)*\((['"`])(.*?)\1|^\s*\](?: as const| satisfies .*)?\)\((['"`])(.*?)\3/;

/** Comments that quote another language, a directive, or a format. */
const isDirective = (text: string): boolean => /^(?:biome-ignore|@ts-|https?:)/.test(text);
const isTest = (file: string): boolean => /\.test\.|\/testing\/|^test\//.test(file);

/** The parts of a source that people read: whole comments, names of tests, and, outside of tests, texts. */
function listCodePassages(file: string, source: string): Passage[] {
  const passages: Passage[] = [];
  let open: Passage | undefined;
  source.split('\n').forEach((whole, index) => {
    const text = whole.trim();
    const isComment = /^(?:\/\/ |\/\*\*?|\*(?: |$|\/))/.test(text);
    if (!isComment) {
      open = undefined;
      const name = TEST_NAME.exec(whole);
      if (name !== null) passages.push({ kind: 'test', line: index + 1, text: name[2] ?? name[4] ?? '' });
      else if (!isTest(file)) {
        for (const [, , words = ''] of whole.matchAll(STRING))
          if (words.split(' ').length > 2) passages.push({ kind: 'message', line: index + 1, text: words });
      }
      return;
    }
    const words = text.replace(/^(?:\/\*\*?|\/\/|\*(?!\/))\s?|\s*\*\/$/g, '');
    if (open === undefined || text.startsWith('/**')) {
      open = { kind: 'comment', line: index + (words === '' ? 2 : 1), text: words };
      passages.push(open);
    } else open.text = `${open.text} ${words}`.trim();
  });
  return passages.filter(({ text }) => !isDirective(text));
}

/** Paragraphs and rows outside of blocks of code. */
function listProse(source: string): Passage[] {
  const passages: Passage[] = [];
  let isCode = false;
  source.split('\n').forEach((text, index) => {
    if (text.startsWith('```')) isCode = !isCode;
    if (!isCode && !text.startsWith('    ') && text.trim() !== '')
      passages.push({ kind: 'docs', line: index + 1, text: text.trim() });
  });
  return passages;
}

/** A line for each wording of a file that breaks a rule: place, words, and what to write instead. */
export function findOffences(file: string, source: string): string[] {
  const passages = file.endsWith('.md') ? listProse(source) : listCodePassages(file, source);
  return passages.flatMap(({ kind, line, text }) => {
    const own = text.replaceAll(QUOTED, (quoted) => ' '.repeat(quoted.length));
    return RULES.flatMap(({ words, instead, kind: only }) => {
      const found = only === undefined || only === kind ? words.exec(own) : null;
      return found === null ? [] : [`${file}:${line}: ${kind}: “${found[0]}”: ${instead}`];
    });
  });
}

/** Texts of others, of the past, and lists of words such as these. */
const LEFT_OUT =
  /^(?:CHANGELOG\.md|docs\/(?:lab|decisions|promises\.md)|samples\/|packages\/db\/drizzle|scripts\/english)/;
const FOLDERS = '{apps,bench,docs,packages,scripts,test}/**/*.{ts,tsx,mjs,md}';

export const isRead = (file: string): boolean => /\.(?:tsx?|mjs|md)$/.test(file) && !LEFT_OUT.test(file);

/** All offences of a checkout, in the order of its files. */
export async function checkEnglish(root: string): Promise<string[]> {
  const files: string[] = [];
  const isForeign = (path: string) => /(?:^|[/\\])(?:node_modules|dist|\.[^/\\]*)$/.test(path);
  for await (const file of glob([FOLDERS, '*.{ts,md}'], { cwd: root, exclude: isForeign }))
    files.push(file.replaceAll('\\', '/'));
  const read = files.filter(isRead).toSorted();
  const offences = read.map(async (file) => findOffences(file, await readFile(join(root, file), 'utf8')));
  return (await Promise.all(offences)).flat();
}
