import { expect, it } from 'vitest';
import { createNdjsonEncoder } from './ndjson-encoder.ts';

it('writes an object a line, with all columns in their order', () => {
  const encoder = createNdjsonEncoder([
    { name: 'name', type: 'text' },
    { name: 'cost_usd', type: 'cost' },
    { name: 'models', type: 'json' },
  ]);
  const lines = `${encoder.start()}${encoder.encode([
    ['a\nb', '0.0000000001', ['m']],
    [null, null, null],
  ])}${encoder.end()}`;
  expect(lines).toBe('{"name":"a\\nb","cost_usd":1e-10,"models":["m"]}\n{"name":null,"cost_usd":null,"models":null}\n');
});
