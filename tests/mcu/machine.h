/*  machine.h - what the firmware of `make mcu` needs of a machine: instructions so far, text to the
    host by semihosting, an end. start.c implements it. */
#ifndef MACHINE_H
#define MACHINE_H
#include <stddef.h>
#include <stdint.h>

/*  qemu's -icount lets time pass with instructions: MCU_SHIFT fixes 2^MCU_SHIFT ns for each. A
    timer of 32 bits at MCU_MHZ counts them; two readings give an exact difference, as the loop in
    main.c proves. On RISC-V, `cycle` counts them with MCU_SHIFT 0. */
uint32_t machine_ticks(void);
/*  Instructions that took these ticks. */
uint32_t machine_instructions(uint32_t ticks);
/*  Runs a loop of exactly 2 rounds + 2 instructions. */
void machine_loop(uint32_t rounds);
void machine_put(const char *text);
void machine_exit(int status);

/*  Memory that the linker script leaves free, and the stack, which grows down from its end. */
extern unsigned char mcu_free[], mcu_free_end[], mcu_stack[], mcu_stack_end[];

static inline unsigned char *machine_sp(void)
{
	unsigned char *sp;
#ifdef __riscv
	__asm__ volatile("mv %0, sp" : "=r"(sp));
#else
	__asm__ volatile("mov %0, sp" : "=r"(sp));
#endif
	return sp;
}

int main(void);
#endif
