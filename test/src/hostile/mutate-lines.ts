import type { Random } from '../random.ts';
import { HOSTILE_BYTES, HOSTILE_MEMBERS, HOSTILE_VALUES, LARGE_HOSTILE_VALUES } from './hostile-fragments.ts';

/** Maximum bytes that one mutation inserts or repeats, apart from hostile fragments. */
const MAX_RUN_BYTES = 2048;
const MAX_MUTATIONS = 3;
const LARGE_VALUE_PROBABILITY = 0.0005;

type Mutation = (line: Buffer, random: Random, seeds: readonly Buffer[]) => Buffer;

/** Endless lines, each made of one or two of `seeds` with up to three mutations; without the final line feed. */
export function createLineMutator(seeds: readonly Buffer[], random: Random): () => Buffer {
  return () => {
    let line = random.pick(seeds);
    for (let count = random.integer(1, MAX_MUTATIONS); count > 0; count -= 1) {
      line = random.pick(MUTATIONS)(line, random, seeds);
    }
    return line;
  };
}

const replace = (line: Buffer, start: number, end: number, bytes: Buffer): Buffer =>
  Buffer.concat([line.subarray(0, start), bytes, line.subarray(end)]);

function pickRange(line: Buffer, random: Random): [start: number, end: number] {
  const start = random.integer(0, line.length);
  return [start, Math.min(line.length, start + random.integer(1, MAX_RUN_BYTES))];
}

const replaceValue: Mutation = (line, random) => {
  const fragments = random.chance(LARGE_VALUE_PROBABILITY) ? LARGE_HOSTILE_VALUES : HOSTILE_VALUES;
  const value = findValue(line, random);
  return value === undefined ? line : replace(line, ...value, random.pick(fragments));
};

const transplantValue: Mutation = (line, random, seeds) => {
  const donor = random.pick(seeds);
  const [value, donated] = [findValue(line, random), findValue(donor, random)];
  return value === undefined || donated === undefined ? line : replace(line, ...value, donor.subarray(...donated));
};

const addMember: Mutation = (line, random) => {
  const brace = line.indexOf('{', random.integer(0, line.length));
  return brace === -1 ? line : replace(line, brace + 1, brace + 1, random.pick(HOSTILE_MEMBERS));
};

const insertBytes: Mutation = (line, random) => {
  const place = random.integer(0, line.length);
  return replace(line, place, place, random.pick(HOSTILE_BYTES));
};

const flipBits: Mutation = (line, random) => {
  const flipped = Buffer.from(line);
  for (let count = random.integer(1, 4); count > 0 && flipped.length > 0; count -= 1) {
    const place = random.integer(0, flipped.length - 1);
    flipped[place] = (flipped[place] ?? 0) ^ (1 << random.integer(0, 7));
  }
  return flipped;
};

const deleteRange: Mutation = (line, random) => replace(line, ...pickRange(line, random), Buffer.alloc(0));

const repeatRange: Mutation = (line, random) => {
  const [start, end] = pickRange(line, random);
  return replace(line, end, end, line.subarray(start, end));
};

const cut: Mutation = (line, random) => line.subarray(0, random.integer(0, line.length));

const splice: Mutation = (line, random, seeds) => {
  const tail = random.pick(seeds);
  return Buffer.concat([cut(line, random, seeds), tail.subarray(random.integer(0, tail.length))]);
};

const glue: Mutation = (line, random, seeds) => Buffer.concat([line, random.pick(seeds)]);

/** Mutations that keep a line valid JSON are listed more than once, because they get past the first check. */
const MUTATIONS: readonly Mutation[] = [
  replaceValue,
  replaceValue,
  replaceValue,
  transplantValue,
  transplantValue,
  addMember,
  addMember,
  insertBytes,
  flipBits,
  deleteRange,
  repeatRange,
  cut,
  splice,
  glue,
];

const COLON = 0x3a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);
const COMMA = 0x2c;

/** The position of a member's value at or after a random place; undefined if there is none. */
function findValue(line: Buffer, random: Random): [start: number, end: number] | undefined {
  const colon = line.indexOf('":', random.integer(0, line.length));
  if (colon === -1) return undefined;
  const start = colon + (line[colon + 1] === COLON ? 2 : 1);
  let depth = 0;
  let isInString = false;
  for (let index = start; index < line.length; index += 1) {
    const byte = line[index] ?? 0;
    if (isInString) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (OPENING.has(byte)) depth += 1;
    else if (depth > 0 && CLOSING.has(byte)) depth -= 1;
    else if (depth === 0 && (byte === COMMA || CLOSING.has(byte))) return [start, index];
  }
  return [start, line.length];
}
