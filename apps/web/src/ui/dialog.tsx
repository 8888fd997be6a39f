import { Dialog } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';

export interface ModalProps {
  title: string;
  close: () => void;
  children: ReactNode;
}

/** A dialog over the page. It takes the focus, gives it back, closes with Escape. */
export function ModalDialog({ title, close, children }: ModalProps): ReactNode {
  return (
    <Dialog.Root open onOpenChange={(isOpen) => isOpen || close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="modal">
          <Dialog.Title className="modal-title">{title}</Dialog.Title>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
