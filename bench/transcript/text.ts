import type { Random } from './random.ts';

/** Cuts text of a given length from a prepared pool, which is much cheaper than generating it for every line. */
export interface TextSource {
  /** Text with line breaks, at most `poolCharacters` characters of UTF-16. */
  passage(characters: number): string;
  /** A few words on one line. */
  phrase(): string;
}

export interface TextSources {
  readonly ascii: TextSource;
  /** Every passage of more than a few words contains characters outside ASCII, some outside the BMP. */
  readonly unicode: TextSource;
}

/** Also the length of the longest passage. */
const poolCharacters = 512 * 1024;
const phraseCount = 64;

const asciiWords = (
  'the a this each invoice ledger tenant retry worker queue migration index column schema buffer parser request ' +
  'response handler timeout cursor batch total rounding currency refund webhook signature replay snapshot because ' +
  'when after before until only still already returns throws skips keeps drops moves fails passes checks reads writes'
).split(' ') as [string, ...string[]];

const unicodeWords = (
  'größe prüfen Rechnung — données reçues vérifiées naïve señal año été → ✓ ✗ │ ├── 日本語 請求書 テスト 成功 ' +
  'счёт проверка ошибка żółty příliš ελέγχω 😀 🚀 🧾 ½ € £ “quoted” …'
).split(' ') as [string, ...string[]];

const codeLines: readonly [string, ...string[]] = [
  '    const %w = await %w.%w({ %w: "%w", %w: %n });',
  '  if (%w.%w === null || %w.%w > %n) {',
  "      throw new RangeError('%w %w: %w %w %n');",
  "import { %w, %w } from './%w-%w.ts';",
  'export function %w(%w: %w, %w: number): %w {',
  '    return %w.map((%w) => ({ ...%w, %w: %w.%w / %n }));',
  '  // %w %w %w when %w %w %w, %w %w %w.',
  "\tSELECT %w, sum(%w) FROM %w WHERE %w = '%w' GROUP BY %w;",
  '[2026-03-14 09:%n:%n] %w.%w INFO  %w=%n %w=%n "%w %w"',
  '  %w:\n    - "%w/%w"\n    - %w: %n',
  '%w %w %w %w, %w %w %w. %w %w %w %w %w.',
  '',
];

/** @param random is read while the pools are built and for each passage and phrase */
export function createTextSources(random: Random): TextSources {
  return {
    ascii: createTextSource(random, () => random.pick(asciiWords)),
    unicode: createTextSource(random, () => random.pick(random.chance(0.4) ? unicodeWords : asciiWords)),
  };
}

function createTextSource(random: Random, word: () => string): TextSource {
  const fill = (template: string) =>
    template.replace(/%[wn]/g, (hole) => (hole === '%w' ? word() : String(random.integer(10, 4999))));

  const lines: string[] = [];
  let characters = 0;
  while (characters < poolCharacters) {
    const line = fill(random.pick(codeLines));
    lines.push(line);
    characters += line.length + 1;
  }
  const pool = lines.join('\n');
  const phrases = Array.from({ length: phraseCount }, () => fill('%w %w %w %w %w %w %w %w %w %w'));

  return {
    passage: (wanted) => {
      const length = Math.min(wanted, poolCharacters);
      const start = random.integer(0, pool.length - length);
      return sliceWholeCharacters(pool, start, start + length);
    },
    phrase: () => phrases[random.integer(0, phraseCount - 1)] ?? '',
  };
}

function sliceWholeCharacters(text: string, start: number, end: number): string {
  const isLowSurrogate = (index: number) => (text.charCodeAt(index) & 0xfc00) === 0xdc00;
  return text.slice(isLowSurrogate(start) ? start + 1 : start, isLowSurrogate(end) ? end - 1 : end);
}
