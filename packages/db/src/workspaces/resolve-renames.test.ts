import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addRenames, RenameConflictError, toShownName } from './resolve-renames.ts';

const rename = (...steps: readonly [names: string, newName: string][]): Map<string, string> =>
  steps.reduce((renames, [names, newName]) => addRenames(renames, names.split(' '), newName), new Map());

const show = (renames: ReadonlyMap<string, string>, names: string): string =>
  names
    .split(' ')
    .map((name) => toShownName(renames, name))
    .join(' ');

describe('addRenames', () => {
  it('shows each of several repositories by the same name', () => {
    expect(show(rename(['a b', 'c']), 'a b c d')).toBe('c c c d');
    expect(show(rename(['a b c', 'c']), 'a b c')).toBe('c c c');
  });

  it('takes those along that were renamed before, and leaves each to be undone alone', () => {
    const renames = rename(['a', 'b'], ['b', 'c']);
    expect(show(renames, 'a b c')).toBe('c c c');
    renames.delete('b');
    expect(show(renames, 'a b c')).toBe('b b c');
  });

  it('changes where a repository was renamed to', () => {
    expect(show(rename(['a', 'b'], ['a', 'c']), 'a b c')).toBe('c b c');
  });

  it('gives back an earlier name', () => {
    expect(show(rename(['a', 'b'], ['b', 'a']), 'a b')).toBe('a a');
    expect(show(rename(['a', 'b'], ['b', 'c'], ['c', 'a']), 'a b c')).toBe('a a a');
    expect(show(rename(['a', 'b'], ['b', 'c'], ['c', 'b']), 'a b c')).toBe('b b b');
  });

  it('refuses a name that is itself renamed, and says what to use', () => {
    expect(() => rename(['a', 'b'], ['c', 'a'])).toThrow(RenameConflictError);
    expect(() => rename(['a', 'b'], ['c', 'a'])).toThrow(
      'a is renamed to b. Use that name, or undo the renaming first.',
    );
  });

  it('shows a repository by its own name if damaged renamings have a cycle', () => {
    expect(show(new Map([...'ab'].map((name, index) => [name, 'ba'.charAt(index)])), 'a b')).toBe('a b');
  });

  it('always shows what was renamed by its new name, and never makes a cycle', () => {
    const name = fc.constantFrom(...'abcdef');
    const step = fc.record({ names: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }), newName: name, undo: name });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let renames = new Map<string, string>();
        for (const { names, newName, undo } of steps) {
          try {
            renames = addRenames(renames, names, newName);
            for (const each of [...names, newName]) expect(toShownName(renames, each)).toBe(newName);
          } catch (error) {
            if (!(error instanceof RenameConflictError)) throw error;
            expect(toShownName(renames, newName)).toBe(error.shownName);
          }
          if (steps.length % 2 === 0) renames.delete(undo);
          for (const each of 'abcdef') {
            const shown = toShownName(renames, each);
            expect(renames.has(shown)).toBe(false);
          }
        }
      }),
    );
  });
});
