import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ExportColumn } from './export-columns.ts';
import { createCsvEncoder, createNdjsonEncoder } from './export-encoders.ts';

describe('csv encoder', () => {
  const COLUMNS: ExportColumn[] = [
    { name: 'name', type: 'text' },
    { name: 'tokens', type: 'count' },
    { name: 'cost_usd', type: 'cost' },
    { name: 'details', type: 'json' },
  ];

  function encode(rows: unknown[][], columns = COLUMNS): string {
    const encoder = createCsvEncoder(columns);
    return `${encoder.start()}${encoder.encode(rows)}${encoder.end()}`;
  }

  describe('createCsvEncoder', () => {
    it('begins with the column names, even without rows', () => {
      expect(encode([])).toBe('name,tokens,cost_usd,details\r\n');
    });

    it('quotes if necessary, and tells null from an empty text', () => {
      expect(
        encode([
          ['a "b", c', 1, '0.25', { a: [1] }],
          [null, null, null, null],
          ['', 0, '-1.5', []],
        ]),
      ).toBe('name,tokens,cost_usd,details\r\n"a ""b"", c",1,0.25,"{""a"":[1]}"\r\n,,,\r\n"",0,-1.5,"[]"\r\n');
    });

    it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])('escapes the formula %j', (text) => {
      expect(parseCsv(encode([[text, null, null, null]]))[1]?.[0]).toBe(`'${text}`);
    });

    it('leaves negative numbers alone', () => {
      expect(encode([['a', -1, '-0.5', null]])).toContain('a,-1,-0.5,\r\n');
    });

    it('writes any text so that a reader of RFC 4180 restores it', () => {
      const texts = fc.array(
        fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom('"', ',', '\r', '\n', 'a', ' ') })),
      );
      fc.assert(
        fc.property(texts, (rows) => {
          const columns = COLUMNS.slice(0, 1).concat({ name: 'other', type: 'text' });
          const [, ...parsed] = parseCsv(encode(rows, columns));
          expect(parsed.map((row) => row.map((text) => text.replace(/^'(?=[=+\-@\t\r\n])/, '')))).toEqual(rows);
        }),
      );
    });
  });

  /** A CSV reader written only from the RFC. */
  function parseCsv(text: string): string[][] {
    const rows: string[][] = [];
    let row: string[] = [];
    let position = 0;
    while (position < text.length) {
      let field = '';
      if (text[position] === '"') {
        position++;
        for (; text[position] !== '"' || text[position + 1] === '"'; position++) {
          if (text[position] === '"') position++;
          field += text[position];
        }
        position++;
      } else {
        for (; text[position] !== ',' && !text.startsWith('\r\n', position); position++) field += text[position];
      }
      row.push(field);
      if (text[position] === ',') position++;
      else {
        rows.push(row);
        row = [];
        position += 2;
      }
    }
    return rows;
  }
});

describe('ndjson encoder', () => {
  it('writes one object per line, with all columns in order', () => {
    const encoder = createNdjsonEncoder([
      { name: 'name', type: 'text' },
      { name: 'cost_usd', type: 'cost' },
      { name: 'models', type: 'json' },
    ]);
    const lines = `${encoder.start()}${encoder.encode([
      ['a\nb', '0.0000000001', ['m']],
      [null, null, null],
    ])}${encoder.end()}`;
    expect(lines).toBe(
      '{"name":"a\\nb","cost_usd":1e-10,"models":["m"]}\n{"name":null,"cost_usd":null,"models":null}\n',
    );
  });
});
