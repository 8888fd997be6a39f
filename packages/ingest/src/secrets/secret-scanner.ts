import { lintSource } from '@secretlint/core';
import { secretLintProfiler } from '@secretlint/profiler';
import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import { findOwnSecrets, type SecretMatch } from './own-rules.ts';
import { findPrivateKeys, PRIVATE_KEY_RULE } from './private-keys.ts';

export interface SecretScanner {
  /** The secrets of a text in order; they do not overlap. */
  scan(text: string): Promise<SecretMatch[]>;
}

const RULE_PREFIX = '@secretlint/secretlint-rule-';

/** This rule obeys comments that disable other rules, which the author of a transcript could abuse. */
const COMMENT_RULE = `${RULE_PREFIX}filter-comments`;
/** Finds key files only if nothing but base64 is between their marks; `findPrivateKeys` finds these too. */
const KEY_RULE = RULE_PREFIX + PRIVATE_KEY_RULE;
const LEFT_OUT: ReadonlySet<string> = new Set([COMMENT_RULE, KEY_RULE]);

/**
 * Texts are searched in windows, because the library compares every match with every other one. A secret cut by the end
 * of a window is complete in the next one if it is no longer than the overlap.
 */
const WINDOW_CHARACTERS = 256 * 1024;
const OVERLAP_CHARACTERS = 16 * 1024;

/**
 * The library's recommended rules, recount's own, and private keys, by regular expressions with bounded repetitions; no
 * network access.
 */
export function createSecretScanner(): SecretScanner {
  // Otherwise it keeps a record of every call in memory.
  secretLintProfiler.setEnabled(false);
  const config = {
    rules: rules.flatMap((rule) => (LEFT_OUT.has(rule.meta.id) ? [] : [{ id: rule.meta.id, rule, options: {} }])),
  };
  const options = { config, noPhysicFilePath: true };

  const scanWindow = async (text: string): Promise<SecretMatch[]> => {
    // The only file name that enables one more rule.
    const source = { content: text, filePath: '.npmrc', ext: '.txt', contentType: 'text' } as const;
    const { messages } = await lintSource({ source, options });
    return messages.flatMap(({ ruleId, range, data }) => {
      const rule = ruleId.replace(RULE_PREFIX, '');
      return toSecretPlaces(text, range, data).map((place) => ({ rule, ...place }));
    });
  };

  return {
    async scan(original) {
      const text = withoutColours(original);
      const separated = withoutLettersBefore(text);
      const matches: SecretMatch[] = [];
      for (let from = 0; ; from += WINDOW_CHARACTERS - OVERLAP_CHARACTERS) {
        const window = separated.slice(from, from + WINDOW_CHARACTERS);
        for (const { rule, start, end } of await scanWindow(window)) {
          matches.push({ rule, start: from + start, end: from + end });
        }
        if (from + WINDOW_CHARACTERS >= text.length) break;
      }
      return withoutOverlaps([...matches, ...findPrivateKeys(text), ...findOwnSecrets(text)]);
    },
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is the character that begins them.
const COLOURS = /\x1b\[[0-9;]{0,20}[A-Za-z]/g;

/** Spaces in place of what colours a terminal, which would be part of the words that it touches. */
function withoutColours(text: string): string {
  return text.includes('\x1b') ? text.replace(COLOURS, ({ length }) => ' '.repeat(length)) : text;
}

const FOREIGN_LETTERS = /[\p{L}--[A-Za-z]]+/gv;
const ESCAPES_WITH_LETTER = /(%(?:25){0,4}[0-9A-Fa-f])[A-Fa-f]/g;

/**
 * Other characters in place of letters that no secret has, and of the last ones of URLs' escapes (`%3D`, `%253D` in a
 * URL in a URL), because the library finds no secret after a letter.
 */
function withoutLettersBefore(text: string): string {
  const separated = text.replace(FOREIGN_LETTERS, ({ length }) => '×'.repeat(length));
  return separated.includes('%')
    ? separated.replace(ESCAPES_WITH_LETTER, (_, start: string) => `${start}0`)
    : separated;
}

type Place = Pick<SecretMatch, 'start' | 'end'>;

/**
 * The positions of a match's secrets. The rule's own range is not usable. For `KEY=secret` some return the start of the
 * whole with the length of the secret, which would leave its end in place, and some extend to the end of the line, over
 * further secrets.
 */
function toSecretPlaces(text: string, range: readonly [number, number], data: unknown): Place[] {
  const value = Object.values(data ?? {})
    .filter((part): part is string => typeof part === 'string')
    .reduce((longest, part) => (part.length > longest.length ? part : longest), '');
  const valueStart = value === '' ? -1 : text.indexOf(value, range[0]);
  if (valueStart === -1) return toSecretPlace(text.slice(...range), range[0]);
  const introduction = text.slice(range[0], valueStart);
  if (introduction === '') return toSecretPlace(value, valueStart);
  const places: Place[] = [];
  let start = valueStart;
  for (const part of value.split(introduction)) {
    places.push(...toSecretPlace(part, start));
    start += part.length + introduction.length;
  }
  return places;
}

/** Credentials in a URL: the rest of the URL says what was connected to, and is not secret. */
const URL_CREDENTIALS = /^[a-z][a-z0-9+.:-]*:\/\/([^@/\s]+:[^@/\s]*)@/i;
/** A secret ends with its word. */
const WORD = /[^\s"'`]+/;
const REDACTED = /^(?:\[REDACTED[:\]]|\*+$)/;

function toSecretPlace(found: string, foundAt: number): Place[] {
  const secret = URL_CREDENTIALS.exec(found)?.[1] ?? WORD.exec(found)?.[0];
  if (secret === undefined || REDACTED.test(secret)) return [];
  const start = foundAt + found.indexOf(secret);
  return [{ start, end: start + secret.length }];
}

/** Merges overlapping matches into one, with the first one's rule. */
function withoutOverlaps(matches: SecretMatch[]): SecretMatch[] {
  const merged: SecretMatch[] = [];
  for (const match of matches.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last === undefined || match.start >= last.end) merged.push(match);
    else last.end = Math.max(last.end, match.end);
  }
  return merged;
}
