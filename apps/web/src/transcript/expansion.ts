import { createContext, useContext, useSyncExternalStore } from 'react';

/** Which parts of a transcript are expanded, by names that survive rows scrolling out of the document. */
export interface Expansion {
  isOpen(name: string, fallback: boolean): boolean;
  set(name: string, isOpen: boolean): void;
  /** Sets everything, overriding earlier choices; undefined means each part's default. */
  setAll(isOpen: boolean | undefined): void;
  subscribe(listener: () => void): () => void;
}

export function createExpansion(): Expansion {
  const chosen = new Map<string, boolean>();
  const listeners = new Set<() => void>();
  let all: boolean | undefined;
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  return {
    isOpen: (name, fallback) => chosen.get(name) ?? all ?? fallback,
    set(name, isOpen) {
      chosen.set(name, isOpen);
      notify();
    },
    setAll(isOpen) {
      chosen.clear();
      all = isOpen;
      notify();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export const ExpansionContext = createContext<Expansion>(createExpansion());

/** The expanded state of something, and a function to change that. */
export function useExpanded(name: string, fallback = false): [isOpen: boolean, set: (isOpen: boolean) => void] {
  const { isOpen, set, subscribe } = useContext(ExpansionContext);
  const current = useSyncExternalStore(subscribe, () => isOpen(name, fallback));
  return [current, (next) => set(name, next)];
}
