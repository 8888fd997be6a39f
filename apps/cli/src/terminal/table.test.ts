import { describe, expect, it } from 'vitest';
import { formatTable } from './table.ts';

const columns = [
  { header: 'NAME', minWidth: 6 },
  { header: 'COUNT', align: 'right' },
  { header: 'NOTE', minWidth: 8 },
] as const;
const rows = [
  ['a long name indeed', '1,234', 'short'],
  ['b', '5', 'a note that goes on'],
];

describe('formatTable', () => {
  it('aligns columns, without trailing spaces', () => {
    expect(formatTable(columns, rows, 100)).toEqual([
      'NAME                COUNT  NOTE',
      'a long name indeed  1,234  short',
      'b                       5  a note that goes on',
    ]);
  });

  it('narrows the widest columns to the available width', () => {
    const lines = formatTable(columns, rows, 30);
    expect(lines).toEqual([
      'NAME        COUNT  NOTE',
      'a long na…  1,234  short',
      'b               5  a note th…'.replace('th…', 'tha…'),
    ]);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(30);
  });

  it('keeps columns that may not be cut, even if the table is too wide', () => {
    expect(formatTable(columns, rows, 5)[1]).toBe('a lon…  1,234  short');
    expect(formatTable([{ header: 'A' }], [['abcdef']], 3)).toEqual(['A', 'abcdef']);
  });

  it('drops optional columns, the last first, if narrowing does not suffice', () => {
    const optional = [
      { header: 'NAME', minWidth: 4 },
      { header: 'READ', isOptional: true },
      { header: 'WRITE', isOptional: true },
      { header: 'SUM' },
    ];
    const row = ['name', '12345', '67890', '1'];
    expect(formatTable(optional, [row], 80)[0]).toBe('NAME  READ   WRITE  SUM');
    expect(formatTable(optional, [row], 20)[0]).toBe('NAME  READ   SUM');
    expect(formatTable(optional, [row], 12)).toEqual(['NAME  SUM', 'name  1']);
  });

  it('measures terminal columns, not characters', () => {
    expect(
      formatTable(
        [{ header: 'A' }, { header: 'B' }],
        [
          ['日本', 'x'],
          ['ab', 'y'],
        ],
        80,
      ),
    ).toEqual(['A     B', '日本  x', 'ab    y']);
  });

  it('accepts missing cells and no rows', () => {
    expect(formatTable(columns, [[]], 80)).toEqual(['NAME  COUNT  NOTE', '']);
    expect(formatTable(columns, [], 80)).toEqual(['NAME  COUNT  NOTE']);
  });
});

describe('optional columns', () => {
  it('are dropped by rank, the lowest first', () => {
    const ranked = [
      { header: 'NAME' },
      { header: 'FIRST', isOptional: true, rank: 2 },
      { header: 'SECOND', isOptional: true, rank: 1 },
      { header: 'THIRD', isOptional: true, rank: 3 },
    ];
    const headersAt = (width: number) => formatTable(ranked, [['a', 'b', 'c', 'd']], width)[0];
    expect(headersAt(40)).toBe('NAME  FIRST  SECOND  THIRD');
    expect(headersAt(20)).toBe('NAME  FIRST  THIRD');
    expect(headersAt(12)).toBe('NAME  THIRD');
  });

  it('keep the end of a column that asks for it', () => {
    expect(formatTable([{ header: 'FILE', minWidth: 4, keeps: 'end' }], [['/srv/clock.ts']], 9)[1]).toBe('…clock.ts');
  });
});
