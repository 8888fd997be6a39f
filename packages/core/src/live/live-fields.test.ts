import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../rows.ts';
import { classifyLine } from './classify-line.ts';
import {
  type FieldReport,
  toBooleanField,
  toNumberField,
  toRequiredText,
  toTextField,
  toTextListField,
} from './coerce-fields.ts';
import { parseLiveTimestampMs } from './live-timestamp.ts';

function withReports<T>(read: (report: FieldReport) => T): { value: T; reports: string[] } {
  const reports: string[] = [];
  return { value: read((code, field) => reports.push(`${code} ${field}`)), reports };
}

describe('fields', () => {
  it.each<[JsonValue | undefined, string | null, string[]]>([
    ['x', 'x', []],
    [1, '1', ['coerced_field f']],
    [true, 'true', ['coerced_field f']],
    [undefined, null, []],
    [null, null, []],
    [{}, null, ['invalid_field f']],
    [[], null, ['invalid_field f']],
  ])('text of %j', (given, value, reports) => {
    expect(withReports((report) => toTextField(given, 'f', report))).toEqual({ value, reports });
  });

  it('takes the fallback of a required text that is missing', () => {
    expect(withReports((report) => toRequiredText(undefined, 'f', 'none', report))).toEqual({
      value: 'none',
      reports: ['missing_field f'],
    });
    expect(withReports((report) => toRequiredText({}, 'f', 'none', report)).reports).toEqual(['invalid_field f']);
  });

  it.each<[JsonValue | undefined, number | null, string[]]>([
    [5, 5, []],
    ['5', 5, ['coerced_field f']],
    [' -1.5e3 ', -1500, ['coerced_field f']],
    ['', null, ['invalid_field f']],
    ['0x10', null, ['invalid_field f']],
    ['many', null, ['invalid_field f']],
    ['1e999', null, ['invalid_field f']],
    [true, null, ['invalid_field f']],
    [undefined, null, []],
  ])('number of %j', (given, value, reports) => {
    expect(withReports((report) => toNumberField(given, 'f', report))).toEqual({ value, reports });
  });

  it.each<[JsonValue | undefined, boolean | null, string[]]>([
    [true, true, []],
    [1, true, ['coerced_field f']],
    ['FALSE', false, ['coerced_field f']],
    ['0', false, ['coerced_field f']],
    [2, null, ['invalid_field f']],
    [['true'], null, ['invalid_field f']],
    [null, null, []],
  ])('boolean of %j', (given, value, reports) => {
    expect(withReports((report) => toBooleanField(given, 'f', report))).toEqual({ value, reports });
  });

  it('reads lists of texts', () => {
    expect(withReports((report) => toTextListField(['a', 1, {}], 'f', report))).toEqual({
      value: ['a', '1'],
      reports: ['coerced_field f', 'invalid_field f'],
    });
    expect(withReports((report) => toTextListField('a', 'f', report))).toEqual({
      value: ['a'],
      reports: ['coerced_field f'],
    });
    expect(withReports((report) => toTextListField(undefined, 'f', report))).toEqual({ value: [], reports: [] });
  });
});

describe('parseLiveTimestampMs', () => {
  const expected = Date.UTC(2026, 10, 5, 14, 30, 15);
  it.each<JsonValue>([
    '2026-11-05T14:30:15Z',
    '2026-11-05T15:30:15.000+01:00',
    expected,
    String(expected),
    expected / 1000,
    String(expected / 1000),
    'Thu, 05 Nov 2026 14:30:15 +0000',
    '5 Nov 2026 14:30:15 GMT',
    'Thu, 05 Nov 2026 09:30:15 EST',
  ])('reads %j', (value) => {
    expect(parseLiveTimestampMs(value)).toBe(expected);
  });

  it('reads parts of seconds', () => {
    expect(parseLiveTimestampMs(1_700_000_000.25)).toBe(1_700_000_000_250);
  });

  it.each<JsonValue | undefined>(['yesterday', '', 'Nov 5', -1, 1e300, Number.NaN, {}, null, undefined, true])(
    'refuses %j',
    (value) => {
      expect(parseLiveTimestampMs(value)).toBeUndefined();
    },
  );
});

describe('classifyLine', () => {
  it('tells messages, tool uses and tool results apart, under the names of streams and of the API', () => {
    const { value, reports } = withReports((report) => [
      classifyLine({ type: 'message', role: 'user', content: 'hi' }, report),
      classifyLine({ type: 'message', message: { role: 'assistant', content: [] } }, report),
      classifyLine({ type: 'tool_use', tool_name: 'Read', tool_input: { a: 1 } }, report),
      classifyLine({ type: 'tool_use', id: 't1', name: 'Read', input: { a: 1 } }, report),
      classifyLine({ type: 'tool_result', tool_use_id: 't1', output: 'x' }, report),
      classifyLine({ type: 'tool_result', tool_use_id: 't1', content: 'x' }, report),
    ]);
    expect(value).toEqual([
      { type: 'message', role: 'user', content: 'hi' },
      { type: 'message', role: 'assistant', content: [] },
      { type: 'tool_use', id: null, tool_name: 'Read', tool_input: { a: 1 } },
      { type: 'tool_use', id: 't1', tool_name: 'Read', tool_input: { a: 1 } },
      { type: 'tool_result', tool_use_id: 't1', output: 'x' },
      { type: 'tool_result', tool_use_id: 't1', output: 'x' },
    ]);
    expect(reports).toEqual([]);
  });

  it('keeps anything else whole', () => {
    const original = { type: 'novel', a: { b: [1] } };
    expect(withReports((report) => classifyLine(original, report))).toEqual({
      value: { type: 'generic', original },
      reports: [],
    });
  });

  it('reports what is missing', () => {
    const { value, reports } = withReports((report) => [
      classifyLine({ type: 'message' }, report),
      classifyLine({ type: 'tool_use', tool_name: 7 }, report),
      classifyLine({ type: 'tool_result' }, report),
    ]);
    expect(value).toMatchObject([{ content: '' }, { tool_name: '7' }, { tool_use_id: '', output: null }]);
    expect(reports).toEqual([
      'missing_field content',
      'missing_field role',
      'coerced_field tool_name',
      'missing_field tool_use_id',
    ]);
  });
});
