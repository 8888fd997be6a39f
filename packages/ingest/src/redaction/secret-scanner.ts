import { lintSource } from '@secretlint/core';
import { secretLintProfiler } from '@secretlint/profiler';
import { rules } from '@secretlint/secretlint-rule-preset-recommend';

/** A secret in a text, from `start` up to, but not including, `end`. */
interface SecretMatch {
  /** `github`, `privatekey`, …: the rule's name in the rule set. */
  rule: string;
  start: number;
  end: number;
}

interface SecretScanner {
  /** The secrets of a text in the order of their places; they do not overlap. */
  scan(text: string): Promise<SecretMatch[]>;
}

const RULE_PREFIX = '@secretlint/secretlint-rule-';

/** Obeys comments in the text that switch the other rules off: whoever writes a transcript could use them. */
const COMMENT_RULE = `${RULE_PREFIX}filter-comments`;

/**
 * Texts are searched in windows: the library compares every match with every other one. A secret that a window cuts lies
 * in the next one as a whole, as far as it is no longer than the overlap.
 */
const WINDOW_CHARACTERS = 256 * 1024;
const OVERLAP_CHARACTERS = 16 * 1024;

/** Rules as the library recommends them: regular expressions with bounded repetitions; nothing is asked of anybody. */
export function createSecretScanner(): SecretScanner {
  // It keeps a record of every call in memory.
  secretLintProfiler.setEnabled(false);
  const config = {
    rules: rules.flatMap((rule) => (rule.meta.id === COMMENT_RULE ? [] : [{ id: rule.meta.id, rule, options: {} }])),
  };
  const options = { config, noPhysicFilePath: true };

  const scanWindow = async (text: string): Promise<SecretMatch[]> => {
    // The one name that turns a further rule on.
    const source = { content: text, filePath: '.npmrc', ext: '.txt', contentType: 'text' } as const;
    const { messages } = await lintSource({ source, options });
    return messages.flatMap(({ ruleId, range, data }) => {
      const rule = ruleId.replace(RULE_PREFIX, '');
      return toSecretPlaces(text, range, data).map((place) => ({ rule, ...place }));
    });
  };

  return {
    async scan(text) {
      const matches: SecretMatch[] = [];
      for (let from = 0; ; from += WINDOW_CHARACTERS - OVERLAP_CHARACTERS) {
        const window = text.slice(from, from + WINDOW_CHARACTERS);
        for (const { rule, start, end } of await scanWindow(window)) {
          matches.push({ rule, start: from + start, end: from + end });
        }
        if (from + WINDOW_CHARACTERS >= text.length) return withoutOverlaps(matches);
      }
    },
  };
}

type Place = Pick<SecretMatch, 'start' | 'end'>;

/**
 * Where the secrets of a match are. The rule's own range will not do: of `KEY=secret` some give the beginning of the
 * whole with the length of the secret, which would leave its end in place, and some go on to the end of the line, over
 * further ones of their kind.
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

/** Credentials in a URL: what surrounds them tells what was connected to, and is no secret. */
const URL_CREDENTIALS = /^[a-z][a-z0-9+.:-]*:\/\/([^@/\s]+:[^@/\s]*)@/i;
/** A key file has line breaks; any other secret ends where its word ends. */
const KEY_FILE = /^-----BEGIN/;
const WORD = /[^\s"'`]+/;
const REDACTED = /^(?:\[REDACTED[:\]]|\*+$)/;

function toSecretPlace(found: string, foundAt: number): Place[] {
  const secret = URL_CREDENTIALS.exec(found)?.[1] ?? (KEY_FILE.test(found) ? found : WORD.exec(found)?.[0]);
  if (secret === undefined || REDACTED.test(secret)) return [];
  const start = foundAt + found.indexOf(secret);
  return [{ start, end: start + secret.length }];
}

/** Of matches that overlap, one of the first one's rule that covers them all. */
function withoutOverlaps(matches: SecretMatch[]): SecretMatch[] {
  const merged: SecretMatch[] = [];
  for (const match of matches.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last === undefined || match.start >= last.end) merged.push(match);
    else last.end = Math.max(last.end, match.end);
  }
  return merged;
}
