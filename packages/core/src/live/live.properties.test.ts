import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../lines/json.ts';
import { toJsonl } from '../testing/transcript-lines.ts';
import type { AgentEvent } from './live-event.ts';
import { LiveLineDecoder } from './live-line-decoder.ts';
import { parserFor } from './parser-for.ts';
import { ampStream, claudeStream, codexStream, toBytes } from './testing/stream-lines.ts';

type Bytes = Uint8Array | string;
const now = (): number => 0;

/** Every agent, with a sample stream of it. */
const streams: [agent: string, lines: readonly JsonObject[]][] = [
  ['claude', claudeStream],
  ['codex', codexStream],
  ['amp', ampStream],
];

function readAgent(agent: string, chunks: readonly Bytes[]): AgentEvent[] {
  const parser = parserFor(agent, { now });
  if (parser === undefined) throw new Error(agent);
  return [...chunks.flatMap((chunk) => parser.push(chunk)), ...parser.finish()];
}

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

/** The events without their places, which depend on the surrounding lines. */
const withoutPlace = (events: readonly AgentEvent[]) =>
  events.map((event) => {
    if (event.type === 'warning') return { type: event.type, code: event.warning.code };
    const { lineNumber: _lineNumber, ...rest } = event;
    return rest;
  });

const garbage = fc
  .oneof(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc.string({ unit: 'binary', maxLength: 40 }).map((text) => Buffer.from(text)),
    fc.constantFrom('oops', '[1]', 'null', '{"type":"assi', '"text"', '}{', '\u0000').map((text) => Buffer.from(text)),
  )
  // Any object, even an empty one, is a line that some reader may react to.
  .filter((bytes) => !/\{.*\}/s.test(bytes.toString('latin1')))
  .map((bytes) => Buffer.concat([bytes, Buffer.from('\n')]));

describe.each(streams)('the stream of %s', (agent, lines) => {
  const read = (chunks: readonly Bytes[]) => readAgent(agent, chunks);
  const bytes = toBytes(lines);
  const expected = read([bytes]);

  it('emits the same events in chunks of any size', () => {
    expect(expected.length).toBeGreaterThan(lines.length / 2);
    expect(read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(expected);
    fc.assert(
      fc.property(fc.array(fc.nat({ max: bytes.length }), { maxLength: 30 }), (cuts) => {
        expect(read(cutAt(bytes, cuts))).toEqual(expected);
      }),
    );
  });

  it('emits warnings for garbage between its lines, and the same events for the rest', () => {
    const rest = withoutPlace(expected);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat({ max: lines.length }), garbage), { minLength: 1, maxLength: 30 }),
        (inserted) => {
          const pieces = lines.map((line) => Buffer.from(toJsonl(line)));
          const sorted = inserted.toSorted(([a], [b]) => b - a);
          for (const [place, bytes] of sorted) pieces.splice(place, 0, bytes);
          const events = withoutPlace(read([Buffer.concat(pieces)]));
          const isOurs = (event: (typeof events)[number]): boolean => event.type !== 'warning';
          expect(events.filter(isOurs)).toEqual(rest.filter(isOurs));
          const isBlank = ([, bytes]: [number, Buffer]): boolean => bytes.toString().trim() === '';
          if (!inserted.every(isBlank)) expect(events.length).toBeGreaterThan(rest.length);
        },
      ),
    );
  });

  it('survives any JSON, with any of its fields changed', () => {
    const value = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;
    fc.assert(
      fc.property(
        fc.nat({ max: lines.length - 1 }),
        fc.array(fc.nat({ max: 20 }), { maxLength: 5 }),
        value,
        (at, path, odd) => {
          const changed = structuredClone(lines) as JsonObject[];
          replaceAt(changed, [at, ...path], odd);
          const objects = changed.filter((line) => typeof line === 'object' && line !== null);
          expect(read([Buffer.from(toJsonl(...objects))])).toBeInstanceOf(Array);
        },
      ),
    );
  });
});

/** Replaces the value at the path of positions, following it to its existing end. */
function replaceAt(root: JsonValue, path: readonly number[], value: JsonValue): void {
  let parent: JsonValue = root;
  for (const [depth, position] of path.entries()) {
    if (typeof parent !== 'object' || parent === null) return;
    const keys: string[] = Object.keys(parent);
    const key = keys[position % Math.max(1, keys.length)];
    if (key === undefined) return;
    const child: JsonValue | undefined = (parent as JsonObject)[key];
    const isLast = depth === path.length - 1 || typeof child !== 'object' || child === null;
    if (isLast && depth > 0) {
      (parent as JsonObject)[key] = value;
      return;
    }
    if (child === undefined) return;
    parent = child;
  }
}

describe('the line decoder', () => {
  it('gives the same result for any bytes in chunks of any size, and never throws', () => {
    const decode = (chunks: readonly Uint8Array[]): unknown[] => {
      const said: unknown[] = [];
      const options = { maxBufferBytes: 64, largeMessageBytes: 32, maxFailuresInRow: 3 };
      const decoder = new LiveLineDecoder(
        { onLine: (line) => said.push(line), onWarning: (warning) => said.push(warning) },
        options,
      );
      for (const chunk of chunks) decoder.push(chunk);
      decoder.end();
      return said;
    };
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc
        .constantFrom('{"a":1}', '\n', '{', '"', '}', '\uFEFF', 'é🎉', 'x'.repeat(70), '{"b":"\\u0000"}')
        .map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.array(fc.nat(), { maxLength: 20 }), (pieces, cuts) => {
        const bytes = Buffer.concat(pieces);
        expect(decode(cutAt(bytes, cuts))).toEqual(decode([bytes]));
      }),
    );
  });
});
