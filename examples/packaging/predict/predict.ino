/*  predict - the torque that a joint of a robot arm needs, and how sure the model is of it. model.h
    holds the model; the program that wrote it is examples/packaging/model.c of odvgp.h. */
#include "gp.h"
#include "model.h"

static odvgpf_server server;
static float scratch[model_scratch / sizeof(float)];

void setup()
{
    Serial.begin(115200);
    odvgp_info info;
    /* Once: check the model. It stays in flash memory. */
    if (odvgpf_server_from_block(&server, model, sizeof model, ODVGP_ISA_AUTO, &info)) {
        Serial.println(odvgpf_status_text(info.status));
        for (;;) delay(1000);
    }
}

void loop()
{
    static float angle = -1.2f;
    /* Stands for sensors. */
    const float x[2] = {angle, 1.0f};
    float mean, var;
    if (odvgpf_predict(&server, x, 1, &mean, &var, scratch, sizeof scratch, NULL) == ODVGP_OK) {
        Serial.print(angle);
        Serial.print(" rad: ");
        Serial.print(mean);
        Serial.print(" Nm +- ");
        Serial.println(2 * sqrt(var));
    }
    angle = angle > 1.1f ? -1.2f : angle + 0.4f;
    delay(500);
}
