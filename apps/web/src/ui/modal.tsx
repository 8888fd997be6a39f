import { lazy, type ReactNode, Suspense } from 'react';
import type { ModalProps } from './dialog.tsx';

const ModalDialog = lazy(async () => ({ default: (await import('./dialog.tsx')).ModalDialog }));

/**
 * A dialog over the page. It takes the focus, gives it back, closes with Escape. Its code is loaded when the first one
 * opens.
 */
export const Modal = (props: ModalProps): ReactNode => (
  <Suspense>
    <ModalDialog {...props} />
  </Suspense>
);
