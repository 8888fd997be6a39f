import { describe, expect, it, vi } from 'vitest';
import { cutCharacters, readIdentifier, readText, toFlag, toNumber } from './fields.ts';

describe('cutCharacters', () => {
  it('counts UTF-16 units and never splits a pair', () => {
    expect(cutCharacters('abc', 3)).toBe('abc');
    expect(cutCharacters('abcd', 3)).toBe('abc');
    expect(cutCharacters('ab🎉', 4)).toBe('ab🎉');
    expect(cutCharacters('ab🎉', 3)).toBe('ab');
    expect(cutCharacters('ab🎉c', 4)).toBe('ab🎉');
  });
});

describe('readIdentifier', () => {
  it('accepts non-empty strings and numbers', () => {
    const onCut = vi.fn();
    expect(readIdentifier('a', onCut)).toBe('a');
    expect(readIdentifier(17, onCut)).toBe('17');
    expect(readIdentifier('x'.repeat(512), onCut)).toHaveLength(512);
    for (const value of ['', null, undefined, true, {}, []]) expect(readIdentifier(value, onCut)).toBeNull();
    expect(onCut).not.toHaveBeenCalled();
  });

  it('truncates long ones and says so', () => {
    const onCut = vi.fn();
    expect(readIdentifier(`${'x'.repeat(511)}🎉`, onCut)).toBe('x'.repeat(511));
    expect(onCut).toHaveBeenCalledOnce();
  });
});

describe('readText', () => {
  it('accepts non-empty strings only', () => {
    expect([readText('a'), readText(''), readText(1), readText(undefined)]).toEqual(['a', null, null, null]);
  });
});

describe('toNumber', () => {
  it.each([
    [5, 5],
    ['5', 5],
    [' -1.5e3 ', -1500],
    ['', undefined],
    ['0x10', undefined],
    ['many', undefined],
    ['1e999', undefined],
    [true, undefined],
    [Number.NaN, undefined],
    [undefined, undefined],
  ])('reads %j', (value, expected) => {
    expect(toNumber(value)).toBe(expected);
  });
});

describe('toFlag', () => {
  it.each([
    [true, true],
    [1, true],
    [' TRUE', true],
    ['0', false],
    [2, undefined],
    [['true'], undefined],
    [null, undefined],
  ])('reads %j', (value, expected) => {
    expect(toFlag(value)).toBe(expected);
  });
});
