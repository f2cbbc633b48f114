/*  Macros that headers of others define, by their names and forms, with values that do not compile:
    none may meet a name of odvgp.h. N, D, P, M, F and T, which the interface uses, stay; of them
    Arduino.h takes F(x) alone. */
#define GP_TAKEN ] \
	}
/*  newlib's <ctype.h> */
#define _U GP_TAKEN
#define _L GP_TAKEN
#define _N GP_TAKEN
#define _S GP_TAKEN
#define _P GP_TAKEN
#define _C GP_TAKEN
#define _X GP_TAKEN
#define _B GP_TAKEN
/*  <complex.h>, <tgmath.h> is not for odvgp.h, which calls sqrt and exp */
#define I         GP_TAKEN
#define imaginary GP_TAKEN
#define complex   GP_TAKEN
/*  Arduino.h and its binary.h */
#define HIGH              GP_TAKEN
#define LOW               GP_TAKEN
#define INPUT             GP_TAKEN
#define OUTPUT            GP_TAKEN
#define PI                GP_TAKEN
#define HALF_PI           GP_TAKEN
#define TWO_PI            GP_TAKEN
#define EULER             GP_TAKEN
#define SERIAL            GP_TAKEN
#define DISPLAY           GP_TAKEN
#define LSBFIRST          GP_TAKEN
#define MSBFIRST          GP_TAKEN
#define CHANGE            GP_TAKEN
#define FALLING           GP_TAKEN
#define RISING            GP_TAKEN
#define DEFAULT           GP_TAKEN
#define EXTERNAL          GP_TAKEN
#define INTERNAL          GP_TAKEN
#define min(a, b)         GP_TAKEN
#define max(a, b)         GP_TAKEN
#define abs(x)            GP_TAKEN
#define round(x)          GP_TAKEN
#define constrain(x, a)   GP_TAKEN
#define radians(x)        GP_TAKEN
#define degrees(x)        GP_TAKEN
#define sq(x)             GP_TAKEN
#define bit(x)            GP_TAKEN
#define bitRead(x, i)     GP_TAKEN
#define bitSet(x, i)      GP_TAKEN
#define bitClear(x, i)    GP_TAKEN
#define lowByte(x)        GP_TAKEN
#define highByte(x)       GP_TAKEN
#define interrupts()      GP_TAKEN
#define F(x)              GP_TAKEN
#define B0                GP_TAKEN
#define B1                GP_TAKEN
#define B00               GP_TAKEN
#define B01               GP_TAKEN
#define B10               GP_TAKEN
#define B11               GP_TAKEN
#define A0                GP_TAKEN
#define A1                GP_TAKEN
#define A2                GP_TAKEN
#define A3                GP_TAKEN
#define SS                GP_TAKEN
#define SCK               GP_TAKEN
#define bitToggle(x, i)   GP_TAKEN
#define bitWrite(x, i, b) GP_TAKEN
#define noInterrupts()    GP_TAKEN
#define word(x)           GP_TAKEN
#define _BV(b)            GP_TAKEN
#define PSTR(x)           GP_TAKEN
#define DEG_TO_RAD        GP_TAKEN
#define RAD_TO_DEG        GP_TAKEN
#define INPUT_PULLUP      GP_TAKEN
#define LED_BUILTIN       GP_TAKEN
#define PROGMEM           GP_TAKEN
#define NOT_A_PIN         GP_TAKEN
#define NOT_A_PORT        GP_TAKEN
#define B000              GP_TAKEN
#define B111              GP_TAKEN
#define B1000             GP_TAKEN
#define B11111111         GP_TAKEN
#define SDA               GP_TAKEN
#define SCL               GP_TAKEN
#define MOSI              GP_TAKEN
#define MISO              GP_TAKEN
/*  CMSIS and its devices: names of registers, peripherals and bits */
#define __I                 GP_TAKEN
#define __O                 GP_TAKEN
#define __IO                GP_TAKEN
#define BLOCK               GP_TAKEN
#define RESET               GP_TAKEN
#define SET                 GP_TAKEN
#define READ                GP_TAKEN
#define WRITE               GP_TAKEN
#define TASK                GP_TAKEN
#define STATUS              GP_TAKEN
#define DMA1                GP_TAKEN
#define TIM1                GP_TAKEN
#define ADC                 GP_TAKEN
#define DAC                 GP_TAKEN
#define SCALE               GP_TAKEN
#define UNUSED(x)           GP_TAKEN
#define __IM                GP_TAKEN
#define __OM                GP_TAKEN
#define __IOM               GP_TAKEN
#define __NOP               GP_TAKEN
#define __WFI               GP_TAKEN
#define __DSB               GP_TAKEN
#define __DMB               GP_TAKEN
#define __ISB               GP_TAKEN
#define __ASM               GP_TAKEN
#define SCB                 GP_TAKEN
#define NVIC                GP_TAKEN
#define FPU                 GP_TAKEN
#define MPU                 GP_TAKEN
#define DWT                 GP_TAKEN
#define ITM                 GP_TAKEN
#define GPIOA               GP_TAKEN
#define USART1              GP_TAKEN
#define SPI1                GP_TAKEN
#define I2C1                GP_TAKEN
#define RCC                 GP_TAKEN
#define PWR                 GP_TAKEN
#define CRC                 GP_TAKEN
#define RNG                 GP_TAKEN
#define HASH                GP_TAKEN
#define EXTI                GP_TAKEN
#define FLASH               GP_TAKEN
#define ENABLE              GP_TAKEN
#define DISABLE             GP_TAKEN
#define SUCCESS             GP_TAKEN
#define LOCK                GP_TAKEN
#define MODIFY_REG(x, y, z) GP_TAKEN
#define SET_BIT(x, y)       GP_TAKEN
#define READ_REG(x)         GP_TAKEN
#define POSITION_VAL(x)     GP_TAKEN
/*  windows.h and what it includes */
#define near         GP_TAKEN
#define far          GP_TAKEN
#define small        GP_TAKEN
#define hyper        GP_TAKEN
#define interface    GP_TAKEN
#define pascal       GP_TAKEN
#define cdecl        GP_TAKEN
#define IN           GP_TAKEN
#define OUT          GP_TAKEN
#define OPTIONAL     GP_TAKEN
#define ERROR        GP_TAKEN
#define NO_ERROR     GP_TAKEN
#define TRUE         GP_TAKEN
#define FALSE        GP_TAKEN
#define VOID         GP_TAKEN
#define CONST        GP_TAKEN
#define DELETE       GP_TAKEN
#define STRICT       GP_TAKEN
#define CALLBACK     GP_TAKEN
#define DIFFERENCE   GP_TAKEN
#define FAR          GP_TAKEN
#define NEAR         GP_TAKEN
#define PURE         GP_TAKEN
#define THIS         GP_TAKEN
#define ABSOLUTE     GP_TAKEN
#define RELATIVE     GP_TAKEN
#define TRANSPARENT  GP_TAKEN
#define ALTERNATE    GP_TAKEN
#define WINDING      GP_TAKEN
#define UNICODE_NULL GP_TAKEN
#define MAXLONG      GP_TAKEN
#define INFINITE     GP_TAKEN
#define WAIT_TIMEOUT GP_TAKEN
#define GetObject    GP_TAKEN
#define CreateFile   GP_TAKEN
#define LoadImage    GP_TAKEN
#define SendMessage  GP_TAKEN
/*  termios.h, sys/param.h, sys/select.h */
#define ECHO      GP_TAKEN
#define MIN(a, b) GP_TAKEN
#define MAX(a, b) GP_TAKEN
#define NBBY      GP_TAKEN
