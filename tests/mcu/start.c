/*  start.c - from reset to main, on Cortex-M and RISC-V as qemu has them. Options:
    MCU_TIMER_CMSDK     the 32-bit timer of ARM's MPS2 boards, at 25 MHz
    MCU_TIMER_NRF51     the timer of the microbit, at 16 MHz
    neither             RISC-V, which counts instructions */
#include "machine.h"

extern uint32_t mcu_data[], mcu_data_end[], mcu_data_from[], mcu_bss[], mcu_bss_end[];

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

/* ---- semihosting ---- */

enum { SYS_WRITE0 = 4, SYS_EXIT = 0x18, STOPPED_BY_EXIT = 0x20026, STOPPED_BY_ERROR = 0x20023 };

static void semihost(uintptr_t operation, uintptr_t argument)
{
#ifdef __riscv
	register uintptr_t a0 __asm__("a0") = operation;
	register uintptr_t a1 __asm__("a1") = argument;
	__asm__ volatile(".balign 16\n.option push\n.option norvc\n"
					 "slli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7\n.option pop"
					 : "+r"(a0)
					 : "r"(a1)
					 : "memory");
#else
	register uintptr_t r0 __asm__("r0") = operation;
	register uintptr_t r1 __asm__("r1") = argument;
	__asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
#endif
}

void machine_put(const char *text) { semihost(SYS_WRITE0, (uintptr_t)text); }

void machine_exit(int status)
{
	semihost(SYS_EXIT, status ? STOPPED_BY_ERROR : STOPPED_BY_EXIT);
	for (;;) continue;
}

static void fault(void)
{
	machine_put("fault\n");
	machine_exit(1);
}

/* ---- instructions ---- */

#if defined(MCU_TIMER_CMSDK)
enum { TIMER = 0x40000000, CTRL = 0, VALUE = 4, RELOAD = 8 };
static void start_timer(void)
{
	REGISTER(TIMER + RELOAD) = 0xffffffff;
	REGISTER(TIMER + VALUE) = 0xffffffff;
	REGISTER(TIMER + CTRL) = 1;
}
uint32_t machine_ticks(void) { return 0xffffffff - REGISTER(TIMER + VALUE); }
#elif defined(MCU_TIMER_NRF51)
enum {
	TIMER = 0x40008000,
	START = 0,
	CAPTURE = 0x40,
	BITMODE = 0x508,
	PRESCALER = 0x510,
	CC = 0x540
};
static void start_timer(void)
{
	REGISTER(TIMER + BITMODE) = 3; /* 32 bits */
	REGISTER(TIMER + PRESCALER) = 0;
	REGISTER(TIMER + START) = 1;
}
uint32_t machine_ticks(void)
{
	REGISTER(TIMER + CAPTURE) = 1;
	return REGISTER(TIMER + CC);
}
#else
static void start_timer(void) {}
uint32_t machine_ticks(void)
{
	uint32_t n;
	__asm__ volatile("csrr %0, cycle" : "=r"(n));
	return n;
}
#endif

/*  Nanoseconds are ticks 1000 / MHz. */
uint32_t machine_instructions(uint32_t ticks)
{
	const uint64_t of_one = (uint64_t)MCU_MHZ << MCU_SHIFT;
	return (uint32_t)(((uint64_t)ticks * 1000 + of_one / 2) / of_one);
}

__attribute__((noinline)) void machine_loop(uint32_t rounds)
{
#ifdef __riscv
	__asm__ volatile("1: addi %0, %0, -1\nbnez %0, 1b" : "+r"(rounds));
#else
	__asm__ volatile(".syntax unified\n1: subs %0, %0, #1\nbne 1b" : "+r"(rounds) : : "cc");
#endif
}

/* ---- reset ---- */

__attribute__((used)) static void start(void)
{
	const uint32_t *from = mcu_data_from;
	for (uint32_t *to = mcu_data; to < mcu_data_end;) *to++ = *from++;
	for (uint32_t *to = mcu_bss; to < mcu_bss_end;) *to++ = 0;
	start_timer();
	machine_exit(main());
}

#ifdef __riscv
/*  f registers on, as far as there are any; tp, since picolibc's errno belongs to a thread. */
__asm__(".section .reset, \"ax\"\n"
		".global mcu_reset\n"
		"mcu_reset:\n"
		".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n"
		"la sp, mcu_stack_end\n"
		"la tp, mcu_tls\n"
		"la t0, mcu_fault\ncsrw mtvec, t0\n"
		"li t0, 0x6000\ncsrs mstatus, t0\n"
		"j mcu_start\n");
__attribute__((used, aligned(4))) void mcu_fault(void);
void mcu_fault(void) { fault(); }
__attribute__((used)) void mcu_start(void);
void mcu_start(void) { start(); }
#else
void mcu_reset(void);
void mcu_reset(void)
{
#ifdef __ARM_FP
	REGISTER(0xE000ED88) |= 0xfu << 20; /* CPACR: all may use the FPU */
	__asm__ volatile("dsb\nisb");
#endif
	start();
}

typedef void (*handler)(void);
typedef struct {
	unsigned char *stack;
	handler at[15];
} vector_table;
__attribute__((section(".reset"), used)) static const vector_table vectors = {
		mcu_stack_end, {mcu_reset, fault, fault, fault, fault, fault, fault, fault, fault, fault,
							   fault, fault, fault, fault, fault}};
#endif
