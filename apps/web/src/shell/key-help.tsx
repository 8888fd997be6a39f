import { Fragment, type ReactNode } from 'react';
import { Modal } from '../ui/modal.tsx';

const KEYS: readonly [string, string][] = [
  ['/ or Ctrl K', 'Search, or go to a page'],
  ['j  k', 'Next, previous row or message'],
  ['J  K', 'Next, previous session of the list'],
  ['[  ]', 'Previous, next prompt'],
  ['n  N', 'Next, previous error'],
  ['e', 'Expand or fold the selection'],
  ['Enter', 'Open the selection'],
  ['g', 'To the top'],
  ['G', 'To the end'],
  ['?', 'This help'],
];

export function KeyHelp({ close }: { close: () => void }): ReactNode {
  return (
    <Modal title="Shortcuts" close={close}>
      <dl className="keys">
        {KEYS.map(([keys, meaning]) => (
          <Fragment key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </Fragment>
        ))}
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </Modal>
  );
}
