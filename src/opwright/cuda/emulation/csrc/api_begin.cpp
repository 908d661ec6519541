// Where the runtime's code begins. In a program it lies behind the program's own, in one segment: files are linked by name.
__asm__(".text\n.globl opwright_emulation_begin\n.hidden opwright_emulation_begin\nopwright_emulation_begin:\n");
